//! Standard input and output in the places of files, and the formats that names of outputs stand for. Method: whole
//! runs with pipes.

use super::run::Folder;

#[test]
fn a_pipe_of_typed_lines_loses_no_line() {
    let folder = Folder::new();
    let lines: String = (0..300_000).map(|key| format!("{key}\n")).collect();
    folder.write("keys.txt", lines);
    let typed = ["--key-type", "u64"];
    let run = folder.run_piped("keys.txt", &[&["db", "import", "s", "-"], &typed[..]].concat()).exits_with(0);
    assert!(run.stdout.contains("300,000 rows"), "{}", run.stdout);
    folder.run(&["db", "count", "s"]).exits_with(0).prints("300000\n");
    folder.run_piped("keys.txt", &[&["build", "-", "-o", "t.ogive"], &typed[..]].concat()).exits_with(0);
    folder.run(&["count", "t.ogive"]).exits_with(0).prints("300000\n");
    folder.run(&["index", "create", "i.ogx", "--key-type", "u64"]).exits_with(0);
    folder.run_piped("keys.txt", &["index", "load", "i.ogx", "-"]).exits_with(0);
    folder.run(&["index", "count", "i.ogx"]).exits_with(0).prints("300000\n");
    let join = ["join", "t.ogive", "-", "-o", "-", "--kind", "anti"];
    folder.run_piped("keys.txt", &join).exits_with(0).prints("");
}
