//! The rule for replacing files: no command overwrites a file of another kind, a file in use, or its input. Method:
//! each command writes to each kind of protected file, by its name and through links, with and without `--force`;
//! protected files stay unchanged, and replaceable ones are replaced.

use super::run::{Folder, Run, sosd};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A command that writes a file, without the name of that file.
struct Writer {
    arguments: &'static [&'static str],
    /// Its flag for the output, where it has one.
    flag: Option<&'static str>,
    extension: &'static str,
    kind: &'static str,
    /// The files that it reads.
    inputs: &'static [&'static str],
}

const WRITERS: [Writer; 9] = [
    Writer {
        arguments: &["build", "rows.csv"],
        flag: Some("-o"),
        extension: "ogive",
        kind: "table",
        inputs: &["rows.csv"],
    },
    Writer {
        arguments: &["build", "rows.csv", "--exact"],
        flag: Some("-o"),
        extension: "ogive",
        kind: "table",
        inputs: &["rows.csv"],
    },
    Writer {
        arguments: &["build", "a.ogive", "--external"],
        flag: Some("-o"),
        extension: "ogive",
        kind: "table",
        inputs: &["a.ogive"],
    },
    Writer {
        arguments: &["join", "a.ogive", "second.ogive"],
        flag: Some("-o"),
        extension: "ogive",
        kind: "table",
        // The second one is an index beside `b.ogive`, which is read, too.
        inputs: &["a.ogive", "second.ogive", "b.ogive"],
    },
    Writer {
        arguments: &["join", "a.ogive", "rows.csv", "--to", "text"],
        flag: Some("-o"),
        extension: "tsv",
        kind: "plain",
        inputs: &["a.ogive", "rows.csv"],
    },
    Writer {
        arguments: &["join", "a.u64", "a.u64", "--to", "records"],
        flag: Some("-o"),
        extension: "bin",
        kind: "plain",
        inputs: &["a.u64"],
    },
    Writer { arguments: &["export", "s"], flag: None, extension: "csv", kind: "plain", inputs: &[] },
    Writer { arguments: &["export", "s"], flag: None, extension: "ogive", kind: "table", inputs: &[] },
    Writer {
        arguments: &["profile", ".", "--seconds", "0.05", "--file-size", "32MiB"],
        flag: Some("-o"),
        extension: "json",
        kind: "profile",
        inputs: &[],
    },
];

impl Writer {
    fn run(&self, folder: &Folder, output: &str, force: bool) -> Run {
        let arguments = self.arguments.iter().copied().chain(self.flag).chain([output]);
        let arguments: Vec<&str> = arguments.chain(force.then_some("--force")).collect();
        folder.run(&arguments)
    }

    fn name(&self) -> String {
        format!("{} to .{}", self.arguments.join(" "), self.extension)
    }
}

/// A folder with a table and an index beside another one, a store, an index, and files of others.
fn full() -> Folder {
    let folder = Folder::new();
    folder.write("rows.csv", "key,value\napple,red\nbanana,yellow\n");
    folder.write("a.u64", sosd(&[1, 2, 3]));
    folder.build("rows.csv", "a.ogive", &["--value", "value"]);
    folder.build("rows.csv", "b.ogive", &["--value", "value"]);
    folder.build("b.ogive", "second.ogive", &["--external"]);
    folder.run(&["db", "put", "s", "apple", "red"]).exits_with(0);
    folder.run(&["db", "compact", "s"]).exits_with(0);
    folder.run(&["index", "create", "i.ogx"]).exits_with(0);
    folder.run(&["index", "put", "i.ogx", "7"]).exits_with(0);
    folder
}

/// A live table of the store.
fn live_table(folder: &Folder) -> PathBuf {
    let files = fs::read_dir(folder.path("s")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "table")).max().unwrap()
}

/// The content of every file of some folders.
fn contents_of(folder: &Folder, places: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for place in places.iter().map(|place| folder.path(place)) {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_file() {
                found.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The content of every file, those of the store among them.
fn contents(folder: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    contents_of(folder, &["", "s"])
}

#[test]
fn inputs_files_in_use_and_what_is_no_file_are_replaced_by_no_command_and_no_flag() {
    let folder = full();
    let table = live_table(&folder);
    for (writer, at) in WRITERS.iter().zip(0..) {
        let mut victims: Vec<(PathBuf, &str)> = vec![
            (table.clone(), "in the folder of a store"),
            (folder.path("i.ogx"), "an index"),
            (PathBuf::from("/dev/null"), "not a regular file"),
            (folder.path("s"), "a folder"),
            (folder.path("nowhere"), "a dangling symbolic link"),
        ];
        victims.extend(writer.inputs.iter().map(|input| (folder.path(input), "an input of this command")));
        for ((victim, reason), number) in victims.iter().zip(0..) {
            let link = format!("link-{at}-{number}.{}", writer.extension);
            symlink(victim, folder.path(&link)).unwrap();
            let before = contents(&folder);
            for force in [false, true] {
                let run = writer.run(&folder, &link, force).exits_with(1).complains_of(&link);
                // Without --force an index is just another file.
                if force || *reason != "an index" {
                    run.complains_of(reason);
                }
                assert!(contents(&folder) == before, "{} destroyed {}", writer.name(), victim.display());
            }
            assert_eq!(fs::read_link(folder.path(&link)).unwrap(), *victim, "the link stays");
        }
        for (input, number) in writer.inputs.iter().zip(0..) {
            let link = format!("hard-{at}-{number}.{}", writer.extension);
            fs::hard_link(folder.path(input), folder.path(&link)).unwrap();
            let before = contents(&folder);
            for (force, name) in [(false, *input), (true, *input), (false, &link), (true, &link)] {
                writer.run(&folder, name, force).exits_with(1).complains_of("an input of this command");
                assert!(contents(&folder) == before, "{} destroyed {name}", writer.name());
            }
        }
    }
    folder.run(&["verify", "s"]).exits_with(0);
    folder.run(&["verify", "i.ogx"]).exits_with(0);
    folder.run(&["verify", "second.ogive"]).exits_with(0);
}

#[test]
fn a_file_of_another_kind_is_replaced_with_force_alone_and_one_of_the_kind_without() {
    let folder = full();
    for (writer, at) in WRITERS.iter().zip(0..) {
        let name = format!("out-{at}.{}", writer.extension);
        let neighbour = folder.write(&format!("{name}.new"), "mine");
        folder.write(&name, "mine");
        writer.run(&folder, &name, false).exits_with(1).complains_of(&name).complains_of("--force");
        assert_eq!(fs::read(folder.path(&name)).unwrap(), b"mine", "{}", writer.name());
        // The file that a link leads to is replaced, and the link stays.
        let link = format!("to-{name}");
        symlink(&name, folder.path(&link)).unwrap();
        writer.run(&folder, &link, true).exits_with(0);
        assert!(fs::symlink_metadata(folder.path(&link)).unwrap().is_symlink(), "{}", writer.name());
        let written = fs::read(folder.path(&name)).unwrap();
        assert_ne!(written, b"mine", "{}", writer.name());
        match writer.kind {
            "plain" => _ = writer.run(&folder, &name, false).exits_with(1).complains_of("--force"),
            _ => _ = writer.run(&folder, &name, false).exits_with(0),
        }
        assert_eq!(fs::read(&neighbour).unwrap(), b"mine", "{} takes the name of another file", writer.name());
        if writer.kind == "table" {
            folder.run(&["verify", &name]).exits_with(0);
        }
    }
    let left = folder.names().into_iter().filter(|name| name.contains("tmp")).collect::<Vec<_>>();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_table_that_a_store_took_in_by_a_link_can_be_built_anew() {
    let folder = full();
    folder.run(&["db", "ingest", "t", "a.ogive"]).exits_with(0);
    folder.write("rows.csv", "key,value\ncherry,dark\n");
    folder.build("rows.csv", "a.ogive", &["--value", "value"]);
    folder.run(&["get", "t", "apple"]).exits_with(0).prints("red\n");
    folder.run(&["verify", "t"]).exits_with(0);
    folder.run(&["get", "a.ogive", "cherry"]).exits_with(0).prints("dark\n");
}

#[test]
fn names_that_a_store_or_the_log_of_an_index_may_take_are_no_outputs() {
    let folder = full();
    let before = contents(&folder);
    for name in ["s/000999.table", "s/LOCK", "s/000999.values", "s/000999.manifest"] {
        folder.run(&["build", "rows.csv", "-o", name, "--force"]).exits_with(1).complains_of("the store");
        folder.run(&["index", "create", name]).exits_with(1).complains_of("the store");
    }
    for name in ["i.ogx.log-1", "i.ogx.log-77", "i.ogx.lock"] {
        folder.run(&["build", "rows.csv", "-o", name, "--force"]).exits_with(1).complains_of("log segment of an index");
        folder.run(&["index", "create", name]).exits_with(1).complains_of("log segment of an index");
    }
    folder.run(&["index", "create", "i.ogx"]).exits_with(1);
    folder.run(&["index", "load", "i.ogx", "i.ogx", "--format", "lines"]).exits_with(1).complains_of("an input");
    assert!(contents(&folder) == before);
    // Outside of the store's folder they may be used.
    folder.build("rows.csv", "rows.log-1", &[]);
    folder.build("rows.csv", "000999.table", &[]);
    folder.run(&["verify", "s"]).exits_with(0);
}

#[test]
fn the_folder_of_a_store_takes_no_output_of_any_name() {
    let folder = full();
    symlink(folder.path("s"), folder.path("way")).unwrap();
    let before = contents(&folder);
    for (writer, at) in WRITERS.iter().zip(0..) {
        for place in ["s", "way"] {
            let name = format!("{place}/out-{at}.{}", writer.extension);
            for force in [false, true] {
                writer.run(&folder, &name, force).exits_with(1).complains_of("in the folder of a store");
            }
        }
    }
    folder.run(&["export", "s", "s/x.csv"]).exits_with(1).complains_of("in the folder of a store");
    folder.run(&["index", "create", "s/x.ogx"]).exits_with(1).complains_of("in the folder of a store");
    folder.run(&["repair", "a.ogive", "-o", "s/x.ogive"]).exits_with(0);
    let inside = folder.command(&["export", ".", "x.csv"]).current_dir(folder.path("s")).output().unwrap();
    assert!(String::from_utf8_lossy(&inside.stderr).contains("in the folder of a store"), "{inside:?}");
    assert!(contents(&folder) == before);
}

#[test]
fn tables_of_a_store_are_not_moved_into_another_one() {
    let folder = full();
    let table = live_table(&folder);
    let name = table.to_str().unwrap();
    let run = folder.run(&["db", "ingest", "other", name, "--move"]).exits_with(1);
    run.complains_of("belongs to another store");
    assert!(table.exists() && !folder.path("other").exists());
    symlink(folder.path("s"), folder.path("way")).unwrap();
    let through = folder.path("way").join(table.file_name().unwrap());
    folder
        .run(&["db", "ingest", "s", through.to_str().unwrap(), "--move"])
        .exits_with(1)
        .complains_of("belongs to another store");
    assert!(table.exists());
    folder.run(&["verify", "s"]).exits_with(0);
}

#[test]
fn no_store_is_made_of_a_folder_of_other_things() {
    let folder = full();
    fs::create_dir(folder.path("mine")).unwrap();
    folder.write("mine/notes.txt", "mine");
    fs::create_dir_all(folder.path("nested/mine")).unwrap();
    for place in ["mine", "nested", "."] {
        let before = contents_of(&folder, &["", "mine"]);
        for arguments in [
            &["db", "put", place, "x", "y"][..],
            &["db", "import", place, "rows.csv"],
            &["db", "ingest", place, "a.ogive"],
            &["db", "checkpoint", "s", place],
            &["db", "bench", place, "--records", "10"],
        ] {
            folder.run(arguments).exits_with(1).complains_of(place);
        }
        assert!(contents_of(&folder, &["", "mine"]) == before, "{place}");
    }
    assert_eq!(fs::read_dir(folder.path("mine")).unwrap().count(), 1);
    fs::create_dir(folder.path("empty")).unwrap();
    folder.run(&["db", "put", "empty", "x", "y"]).exits_with(0);
    folder.run(&["get", "empty", "x"]).exits_with(0).prints("y\n");
}

#[test]
fn the_demonstration_replaces_its_own_tables_and_nothing_else() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("tree")).unwrap();
    folder.write("tree/file", "content");
    fs::create_dir(folder.path("tables")).unwrap();
    folder.write("tables/times-s3.ogive", "mine");
    let run = folder.run(&["demo", "tree", "--dir", "tables"]).exits_with(1).complains_of("times-s3.ogive");
    assert!(!run.stderr.contains("--force"), "{}", run.stderr);
    assert_eq!(fs::read(folder.path("tables/times-s3.ogive")).unwrap(), b"mine");
    fs::remove_file(folder.path("tables/times-s3.ogive")).unwrap();
    folder.run(&["demo", "tree", "--dir", "tables"]).exits_with(0);
    folder.run(&["demo", "tree", "--dir", "tables"]).exits_with(0);
}
