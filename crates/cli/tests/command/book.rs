//! The examples of the book run as printed. Method: the lines of its `console` blocks that begin with `$` are run by a
//! shell, those of a page in one folder; what is shown below them is compared with what they print.
//!
//! A line `...` stands for any lines, and `...` at the end of a line for the rest of it. A command that ends with
//! another exit code than 0 says so: `# exits with 1`.

use super::run::Folder;
use std::path::Path;
use std::process::{Command, Stdio};

/// The pages whose `console` blocks are run; other pages show commands that take minutes, or files that are not there.
const PAGES: &[(&str, &str)] = &[
    ("start.md", include_str!("../../../../docs/start.md")),
    ("concepts/lookup.md", include_str!("../../../../docs/concepts/lookup.md")),
    ("concepts/tuner.md", include_str!("../../../../docs/concepts/tuner.md")),
    ("concepts/joins.md", include_str!("../../../../docs/concepts/joins.md")),
    ("recipes/read-only-table.md", include_str!("../../../../docs/recipes/read-only-table.md")),
    #[cfg(feature = "parquet")]
    ("recipes/dumps.md", include_str!("../../../../docs/recipes/dumps.md")),
    ("recipes/typed-store.md", include_str!("../../../../docs/recipes/typed-store.md")),
    ("recipes/latest-and-pages.md", include_str!("../../../../docs/recipes/latest-and-pages.md")),
    ("recipes/readers-and-backups.md", include_str!("../../../../docs/recipes/readers-and-backups.md")),
    ("recipes/transactions.md", include_str!("../../../../docs/recipes/transactions.md")),
    ("recipes/unique-email.md", include_str!("../../../../docs/recipes/unique-email.md")),
    ("recipes/sessions.md", include_str!("../../../../docs/recipes/sessions.md")),
    ("recipes/join.md", include_str!("../../../../docs/recipes/join.md")),
];

/// A command of a page, and the lines that the page shows below it.
struct Example<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
}

/// The commands of all `console` blocks of a page.
fn examples(page: &str) -> Vec<Example<'_>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap_or_default().lines() {
            match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => examples.push(Example { command, shown: Vec::new() }),
                (None, Some(example)) if !line.is_empty() => example.shown.push(line),
                _ => {}
            }
        }
    }
    examples
}

/// Whether a printed line is the shown one, whose end may be left out.
fn is_shown(shown: &str, printed: &str) -> bool {
    match shown.strip_suffix("...") {
        Some(begin) => printed.starts_with(begin),
        None => shown == printed.trim_end(),
    }
}

/// Whether the printed lines are the shown ones, with any lines in place of each `...`.
fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        (["...", rest @ ..], _) => (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..])),
        ([first, shown @ ..], [line, printed @ ..]) => is_shown(first, line) && matches(shown, printed),
        _ => false,
    }
}

/// Whether a line tells the progress of work, as on a slow machine.
fn is_progress(line: &str) -> bool {
    line.contains(" %), ") && line.ends_with(" left")
}

#[test]
fn every_command_of_the_book_prints_what_is_shown() {
    let programs = Path::new(env!("CARGO_BIN_EXE_ogive")).parent().unwrap();
    let path = std::env::join_paths([programs.to_owned()].into_iter().chain(std::env::split_paths("/usr/bin:/bin")));
    let path = path.unwrap();
    for (name, page) in PAGES {
        let folder = Folder::new();
        let examples = examples(page);
        assert!(!examples.is_empty(), "{name} has no command");
        for Example { command, shown } in examples {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).current_dir(folder.path("")).env("PATH", &path);
            let output = shell.stdin(Stdio::null()).output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            let code = command.split_once("# exits with ").map_or(0, |(_, code)| code.trim().parse().unwrap());
            assert_eq!(output.status.code(), Some(code), "{name}: {command}\n{printed}");
            let lines: Vec<&str> = printed.lines().filter(|line| !line.is_empty() && !is_progress(line)).collect();
            assert!(matches(&shown, &lines), "{name}: {command}\nshown:\n{}\nprinted:\n{printed}", shown.join("\n"));
        }
    }
}

#[test]
fn dots_stand_for_any_lines_and_for_the_rest_of_one() {
    assert!(matches(&["a", "...", "d"], &["a", "b", "c", "d"]));
    assert!(matches(&["...", "a b ..."], &["a b c"]));
    assert!(!matches(&["a", "..."], &["b", "a"]));
    assert!(!matches(&["a"], &["a", "b"]));
    assert!(!matches(&["a", "b"], &["a"]));
}
