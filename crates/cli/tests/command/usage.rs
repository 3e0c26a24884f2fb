//! Usage errors, which exit with 2 and a hint, and help texts. Method: whole runs.

use super::run::{Folder, sosd};

const COMMANDS: [&str; 13] =
    ["demo", "profile", "build", "get", "scan", "rank", "nth", "count", "explain", "tune", "verify", "join", "index"];
const INDEX_COMMANDS: [&str; 11] =
    ["create", "load", "get", "put", "delete", "scan", "count", "stats", "verify", "repair", "explain"];

#[test]
fn every_command_explains_itself_with_examples() {
    let folder = Folder::new();
    let overview = folder.run(&["--help"]).exits_with(0);
    for command in COMMANDS {
        assert!(overview.stdout.contains(&format!("\n  {command} ")), "{command} is missing in\n{}", overview.stdout);
        let help = folder.run(&[command, "--help"]).exits_with(0);
        assert!(help.stdout.contains("Examples:") && help.stdout.contains("--json"), "{}", help.stdout);
    }
    let overview = folder.run(&["index", "--help"]).exits_with(0);
    for command in INDEX_COMMANDS {
        assert!(overview.stdout.contains(&format!("\n  {command} ")), "{command} is missing in\n{}", overview.stdout);
        let help = folder.run(&["index", command, "--help"]).exits_with(0);
        assert!(help.stdout.contains("Examples:") && help.stdout.contains("--json"), "{}", help.stdout);
        assert!(help.stdout.contains(&format!("ogive index {command}")), "{}", help.stdout);
    }
    assert!(folder.run(&["--version"]).exits_with(0).stdout.starts_with("ogive "));
}

#[test]
fn wrong_usage_exits_with_two() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&[1, 2, 3]));
    folder.build("keys.u64", "t.ogive", &[]);
    for arguments in [
        &[][..],
        &["conjure"],
        &["get"],
        &["get", "t.ogive"],
        &["get", "t.ogive", "one"],
        &["get", "t.ogive", "-1"],
        &["get", "t.ogive", "18446744073709551616"],
        &["get", "t.ogive", "1", "--unknown"],
        &["scan", "t.ogive", "--limit", "many"],
        &["nth", "t.ogive", "first"],
        &["build", "keys.u64"],
        &["build", "keys.u64", "-o", "u.ogive", "--memory", "much"],
        &["build", "keys.u64", "-o", "u.ogive", "--block-size", "1000"],
        &["build", "keys.u64", "-o", "u.ogive", "--block-size", "2MiB"],
        &["build", "keys.u64", "-o", "u.ogive", "--design", "guesswork"],
        &["build", "keys.u64", "-o", "u.ogive", "--for", "floppy"],
        &["build", "keys.u64", "-o", "u.ogive", "--key", "1"],
        &["build", "keys.u64", "-o", "u.ogive", "--payload", "x"],
        &["tune", "keys.u64", "--for", "floppy"],
    ] {
        let run = folder.run(arguments).exits_with(2);
        assert!(run.stdout.is_empty() && run.stderr.contains("error:"), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(folder.names(), ["keys.u64", "t.ogive"]);
}

#[test]
fn with_json_an_error_is_an_object_on_standard_output() {
    let folder = Folder::new();
    for (arguments, code) in [
        (&["explain", "nowhere.ogive", "--json"][..], 1),
        (&["--json", "verify", "nowhere.ogive"], 1),
        (&["build", "nowhere.txt", "-o", "t.ogive", "--json"], 1),
        (&["get", "--json"], 2),
    ] {
        let run = folder.run(arguments).exits_with(code);
        assert!(run.json()["error"].is_string(), "{}", run.stdout);
        assert!(run.stderr.contains("error:"), "{}", run.stderr);
    }
    let missing = folder.run(&["get", "--json"]).json();
    assert!(missing["error"].as_str().unwrap().ends_with("<TABLE> <KEY>"), "{missing}");
    let wrong = folder.run(&["nth", "t.ogive", "first", "--json"]).json();
    assert!(wrong["error"].as_str().unwrap().starts_with("invalid value 'first' for '<POSITION>'"), "{wrong}");
}

#[test]
fn help_into_a_closed_pipe_is_no_error() {
    let folder = Folder::new();
    let mut child = folder.command(&["--help"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
