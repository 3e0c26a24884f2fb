//! Stores under a limit of open files, as `ulimit -n` sets it. Method: whole runs.

use super::run::{Folder, Run, grouped};

/// The command under a limit of open files, as a shell would run it.
fn with_handles(folder: &Folder, handles: u32, arguments: &[&str]) -> Run {
    let limited = format!("ulimit -n {handles} && exec \"$@\"");
    let shell: Vec<&str> = ["-c", &limited, "sh", env!("CARGO_BIN_EXE_ogive")].to_vec();
    let mut command = std::process::Command::new("sh");
    command.args(shell).args(arguments).current_dir(folder.path(".")).stdin(std::process::Stdio::null());
    Run::new(arguments, command.output().unwrap())
}

/// A store has more tables than the process may have open files; or its limit exceeds that of the process, so the
/// system refuses, and files are closed then.
#[test]
fn a_store_of_more_tables_than_handles_works() {
    let folder = Folder::new();
    let tables: Vec<String> = (0..80).map(|table| format!("{table}.ogive")).collect();
    for (at, table) in tables.iter().enumerate() {
        folder.write("rows.csv", format!("k{at:03},v{at}\n"));
        folder.build("rows.csv", table, &["--no-header", "--key-type", "text", "--value", "2"]);
    }
    let ingest: Vec<&str> = ["db", "ingest", "s"].into_iter().chain(tables.iter().map(String::as_str)).collect();
    with_handles(&folder, 20, &ingest).exits_with(0);
    let ways: [(&str, u32, &[&str]); 4] =
        [("a", 48, &[]), ("b", 20, &[]), ("c", 32, &["--open-files", "1000"]), ("d", 48, &["--open-files", "8"])];
    for (copy, handles, flags) in ways {
        let run = |arguments: &[&str]| {
            let arguments = grouped("db", &[arguments, flags].concat());
            with_handles(&folder, handles, &arguments).exits_with(0)
        };
        run(&["get", "s", "k079"]).prints("v79\n");
        run(&["put", "s", "k000", "v0"]);
        assert_eq!(run(&["scan", "s"]).stdout.lines().count(), 80);
        run(&["verify", "s"]);
        run(&["checkpoint", "s", copy]);
        run(&["compact", copy]);
        run(&["get", copy, "k040"]).prints("v40\n");
    }
    // What cannot work says which limit to raise.
    with_handles(&folder, 5, &["db", "put", "s", "k001", "v1"]).exits_with_error().complains_of("ulimit -n");
}
