//! Single files of lake tables: the goal is that no command reads rows that the table no longer has without a word.
//! Method: each command that reads Parquet, on a file below a log that says so, that is empty or that cannot be listed.

use super::run::Folder;

/// A folder with a Parquet file `t/p=1/x.parquet` of the ids 1 to 3.
fn table() -> Folder {
    let folder = Folder::new();
    folder.write("ids.csv", "id,v\n1,a\n2,b\n3,c\n");
    folder.build("ids.csv", "ids.ogive", &[]);
    std::fs::create_dir_all(folder.path("t/p=1")).unwrap();
    folder.run(&["export", "ids.ogive", "t/p=1/x.parquet"]).exits_with(0);
    folder
}

const FILE: &str = "t/p=1/x.parquet";

/// The commands that read a Parquet file, each with a fresh output.
const COMMANDS: [&[&str]; 7] = [
    &["build", FILE, "-o", "out.ogive"],
    &["build", FILE, "-o", "exact.ogive", "--exact"],
    &["build", FILE, "--external", "--key", "id", "-o", "out.idx"],
    &["db", "import", "store", FILE],
    &["index", "load", "out.ogx", FILE],
    &["tune", FILE],
    &["join", FILE, "ids.ogive", "-o", "out.csv"],
];

fn runs(folder: &Folder, reason: Option<&str>) {
    for command in COMMANDS {
        for name in ["out.ogive", "exact.ogive", "out.idx", "out.ogx", "out.csv"] {
            _ = std::fs::remove_file(folder.path(name));
        }
        _ = std::fs::remove_dir_all(folder.path("store"));
        if command[0] == "index" {
            folder
                .run(&[
                    "index",
                    "create",
                    "out.ogx",
                    "--key-type",
                    "u64",
                    "--value-type",
                    "{v: text}",
                    "--value-bytes",
                    "8",
                ])
                .exits_with(0);
        }
        let Some(reason) = reason else {
            folder.run(command).exits_with(0).keeps_quiet_about("warning");
            continue;
        };
        let refused = folder.run(command).exits_with(1).complains_of(reason).complains_of("--ignore-table-log");
        assert_eq!(refused.stderr.matches("ignore-table-log").count(), 1, "{}", refused.stderr);
        let ignored = folder.run(&[command, &["--ignore-table-log"]].concat()).exits_with(0).complains_of(reason);
        let warning = ignored.complains_of("warning: ");
        assert_eq!(warning.stderr.matches(reason).count(), 1, "{}", warning.stderr);
        assert!(!warning.stderr.contains("ignore-table-log"), "what was given is not advised: {}", warning.stderr);
    }
}

#[test]
fn every_command_looks_at_the_log_of_the_table_of_a_file() {
    let folder = table();
    runs(&folder, None);
    std::fs::create_dir(folder.path("t/_delta_log")).unwrap();
    runs(&folder, Some("cannot be read"));
    let log = "t/_delta_log/00000000000000000000.json";
    folder.write(log, r#"{"protocol":{"minReaderVersion":3,"readerFeatures":["deletionVectors"]}}"#);
    runs(&folder, Some("names deletionVectors"));
    folder.write(log, r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#);
    runs(&folder, None);
    // Any folder may have this name.
    std::fs::create_dir(folder.path("t/metadata")).unwrap();
    runs(&folder, None);
    folder.write("t/metadata/v1.metadata.json", "{");
    runs(&folder, Some("cannot be read"));
}

#[cfg(unix)]
#[test]
fn a_log_that_cannot_be_listed_is_no_reason_to_read_on() {
    use std::os::unix::fs::PermissionsExt;
    let folder = table();
    let log = folder.path("t/_delta_log");
    std::fs::create_dir(&log).unwrap();
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root lists everything.
    let reason = if std::fs::read_dir(&log).is_ok() { "is empty" } else { "cannot be read" };
    runs(&folder, Some(reason));
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::remove_dir(&log).unwrap();
    // What is no folder is no log.
    folder.write("t/_delta_log", "");
    folder.write("t/metadata", "");
    runs(&folder, None);
}

#[test]
fn a_folder_with_an_empty_log_is_a_table() {
    let folder = table();
    std::fs::create_dir(folder.path("t/_delta_log")).unwrap();
    let build = ["build", "t", "--external", "--key", "id", "-o", "out.idx"];
    folder.run(&build).exits_with(1).complains_of("belongs to a table of Delta Lake");
}
