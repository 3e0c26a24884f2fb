//! Usage errors, which exit with 2 and a hint, and help texts. Method: whole runs.

use super::run::{Folder, Run, sosd};

const COMMANDS: [&str; 22] = [
    "demo",
    "profile",
    "build",
    "info",
    "get",
    "scan",
    "rank",
    "nth",
    "count",
    "stats",
    "explain",
    "report",
    "export",
    "tune",
    "verify",
    "repair",
    "join",
    "sql",
    "index",
    "db",
    "completions",
    "man",
];
const INDEX_COMMANDS: [&str; 4] = ["create", "load", "put", "delete"];

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
    let version = folder.run(&["--version"]).exits_with(0).stdout;
    assert!(
        version.starts_with("ogive ")
            && version.contains(if cfg!(feature = "parquet") { "+parquet" } else { "-parquet" })
    );
}

/// The characters that a shell takes for itself outside quotes; a pipe and a redirection are meant.
const OF_SHELL: [char; 9] = ['(', ')', '{', '}', '[', ']', '*', '?', ';'];

/// What is not in quotes.
fn bare(text: &str) -> String {
    let mut open = None;
    let keep = |letter: &char| match (*letter, open) {
        (quote @ ('\'' | '"'), None) => {
            open = Some(quote);
            false
        }
        (quote, Some(begun)) => {
            open = open.filter(|_| quote != begun);
            false
        }
        _ => true,
    };
    text.chars().filter(keep).collect()
}

/// The sub-commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
    let words = lines.filter(|line| line.starts_with(|letter: char| letter.is_ascii_lowercase()));
    words
        .filter_map(|line| Some(line.split_once("  ")?.0.to_owned()))
        .filter(|word| !word.contains(' ') && word != "help")
        .collect()
}

#[test]
fn what_help_texts_show_is_quoted_for_a_shell() {
    let folder = Folder::new();
    let groups = ["index", "db"].map(|group| {
        let inner = listed(&folder.run(&[group, "--help"]).exits_with(0).stdout);
        assert!(inner.len() >= INDEX_COMMANDS.len(), "{inner:?}");
        inner.into_iter().map(move |command| vec![group.to_owned(), command])
    });
    let outer = COMMANDS.iter().map(|command| vec![(*command).to_owned()]);
    for command in outer.chain(groups.into_iter().flatten()) {
        let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
        words.push("--help");
        let help = folder.run(&words).exits_with(0).stdout;
        for line in help.lines().filter(|line| line.starts_with("  ogive ")) {
            let shown = line.trim_start().split("  ").next().unwrap();
            assert!(!bare(shown).contains(OF_SHELL), "{shown}");
        }
        for word in help.split_whitespace().filter(|word| word.contains('=') && word.contains('(')) {
            assert!(word.starts_with('\''), "{words:?}: {word}");
        }
    }
    folder.write("rows.csv", "id,price\n1,2.50\n");
    let wrong = folder.run(&["build", "rows.csv", "-o", "t", "--type", "price"]).exits_with(2);
    wrong.complains_of("'price=decimal(8,2)'");
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
    assert!(missing["error"].as_str().unwrap().ends_with("<PLACE> <KEY>..."), "{missing}");
    let wrong = folder.run(&["nth", "t.ogive", "first", "--json"]).json();
    assert!(wrong["error"].as_str().unwrap().starts_with("invalid value 'first' for '<POSITION>'"), "{wrong}");
}

#[test]
fn keys_that_begin_with_a_hyphen_are_found_or_the_message_says_how() {
    let folder = Folder::new();
    folder.write("numbers.txt", "-inf\n-5\n-0.5\n7\n");
    folder.build("numbers.txt", "n", &["--key-type", "f64"]);
    folder.run(&["get", "n", "-inf"]).exits_with(0);
    folder.run(&["rank", "n", "-5"]).exits_with(0).prints("1\n");
    folder.run(&["count", "n", "--from", "-inf", "--to", "-0.5"]).exits_with(0).prints("2\n");
    for (command, value) in [(&["db", "put"][..], &["-red"][..]), (&["get"], &[]), (&["db", "delete"], &[])] {
        let run = folder.run(&[command, &["s", "-apple"], value].concat()).exits_with(2);
        run.complains_of("put `--` before it: -- -apple");
        folder.run(&[command, &["s", "--", "-apple"], value].concat()).exits_with(0);
    }
    let json = folder.run(&["get", "n", "-x", "--json"]).exits_with(2).json();
    assert!(json["hint"].as_str().unwrap().ends_with("-- -x"), "{json}");
    folder.run(&["db", "put", "s", "--durabilty", "x"]).exits_with(2).complains_of("'--durabilty'");
}

#[test]
fn short_help_names_every_kind_of_place() {
    let folder = Folder::new();
    for command in ["get", "scan", "count", "rank", "nth", "export", "verify", "explain", "stats"] {
        let help = folder.run(&[command, "-h"]).exits_with(0).stdout;
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("<PLACE> Table, index, store, or index of Parquet files"), "{help}");
    }
}

#[test]
fn a_number_that_is_none_is_told_in_words() {
    let folder = Folder::new();
    folder.run(&["nth", "t.ogive", "abc"]).exits_with(2).complains_of("-1 the last");
    for arguments in [&["stats", "s", "--open-files", "many"][..], &["demo", "--files", "1k"]] {
        folder.run(arguments).exits_with(2).complains_of("a whole number in digits");
    }
    folder.run(&["report", "s", "--json", "--samples", "9999999999"]).exits_with(2).complains_of("too large");
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.run(&["completions", shell]).exits_with(0).stdout;
        assert!(script.contains("drop-keyspace"), "{shell}");
    }
    folder.run(&["completions", "csh"]).exits_with(2).complains_of("bash");
    // What a user of bash gets for `ogive db dr<Tab>`.
    folder.write("ogive.bash", folder.run(&["completions", "bash"]).stdout);
    let typed = "source ./ogive.bash; COMP_WORDS=(ogive db dr); COMP_CWORD=2; _ogive ogive dr db; echo ${COMPREPLY[@]}";
    let bash = std::process::Command::new("bash").args(["-c", typed]).current_dir(folder.path("")).output();
    if let Ok(bash) = bash {
        assert_eq!(String::from_utf8_lossy(&bash.stdout), "drop-keyspace\n");
    }
    let told = folder.run(&["man", "pages", "--json"]).exits_with(0).json();
    let pages = std::fs::read_dir(folder.path("pages")).unwrap().count() as u64;
    assert!(told["pages"] == pages && pages > 35, "{told}");
    let page = std::fs::read_to_string(folder.path("pages/ogive-db-put.1")).unwrap();
    assert!(page.contains(".TH ogive-db-put 1") && page.contains("Insert or overwrite an entry"), "{page}");
    assert!(page.contains(".SH EXAMPLES\n.nf\n\\&  ogive db put fruit apple red   "), "{page}");
    folder.run(&["man", "pages"]).exits_with(0);
}

#[test]
fn help_into_a_closed_pipe_is_no_error() {
    let folder = Folder::new();
    let mut child = folder.command(&["--help"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn sql_is_passed_to_the_program_beside_the_command_or_its_absence_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    // Beside the command that is tested, the program may be built or not.
    let command = folder.path("ogive");
    std::fs::copy(env!("CARGO_BIN_EXE_ogive"), &command).unwrap();
    let run = |arguments: &[&str]| loop {
        match std::process::Command::new(&command).args(arguments).env("PATH", folder.path("empty")).output() {
            // A process that another test began meanwhile still has the copy open for writing.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => return Run::new(arguments, output.unwrap()),
        }
    };
    run(&["sql", "-c", "select 1"]).exits_with(1).complains_of("cargo install --path sql/shell");

    let program = folder.write("ogive-sql", "#!/bin/sh\nfor word; do echo \"<$word>\"; done\nexit ${1#-}\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    run(&["sql", "-0", "select 1", "--format", "csv"]).exits_with(0).prints("<-0>\n<select 1>\n<--format>\n<csv>\n");
    let given = run(&["--storage-option", "a=b=c", "sql", "select 1"]);
    given.prints("<--storage-option=a=b=c>\n<select 1>\n");
    run(&["--json", "sql", "-0"]).exits_with(0).prints("<-0>\n<--format>\n<json>\n");
    run(&["sql", "-3"]).exits_with(3);
}

/// The structures, designs and methods of papers are those of `ogive-research`.
#[test]
fn no_help_names_what_only_the_papers_have() {
    let folder = Folder::new();
    for command in [&[][..], &["join"], &["tune"], &["build"], &["index"], &["index", "create"]] {
        let help = folder.run(&[command, &["--help"]].concat()).exits_with(0).stdout;
        let words: Vec<String> = help.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase).collect();
        for name in ["alex", "lipp", "aulid", "fiting", "pgm", "airindex", "spline", "plex", "rmi", "bourbon"] {
            assert!(!words.iter().any(|word| word == name), "{name} in {help}");
        }
    }
}
