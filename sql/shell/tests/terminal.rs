//! The shell on a terminal: its prompt, completion, history, and how it is left.
//!
//! A small program of Python makes the pseudo-terminal; without Python the test says that it is left out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const TERMINAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/terminal.py");

fn has_python() -> bool {
    let tried = Command::new("python3").args(["-c", "import pty"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Exit code, and what was printed. The folder is also that of the history.
fn talk(folder: &Path, steps: &[&str]) -> (i32, String) {
    let mut child = Command::new("python3")
        .args([TERMINAL, env!("CARGO_BIN_EXE_ogive-sql"), "names.csv"])
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder)
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(steps.join("\n").as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    (ended.status.code().unwrap(), String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[test]
fn the_shell_prompts_completes_remembers_and_is_left_by_ctrl_d() {
    if !has_python() {
        eprintln!("left out: there is no python3 with the module pty");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("names.csv"), "id,identity\n1,one\n40,forty\n").unwrap();
    let (code, said) = talk(
        folder.path(),
        &[
            "wait ogive> ",
            // The name of a column, of a table, and a path in quotes.
            r"send select max(identi\t",
            "wait identity",
            r"send ) as most, sum(id) + 1 as more from nam\t",
            "wait names",
            // A statement goes on until its semicolon.
            r"send \r",
            r"send where id > 0;\r",
            "wait | one  | 42   |",
            "wait 1 row",
            "wait ogive> ",
            // The last statement again, by the arrow up.
            r"send \x1b[A",
            "wait where id > 0;",
            r"send \r",
            "wait | one  | 42   |",
            "wait ogive> ",
            // Ctrl-C clears what was typed.
            r"send select garbage\x03",
            "wait ogive> ",
            r"send select count(*) as n from 'nam\t",
            "wait names.csv'",
            r"send ;\r",
            "wait | 2 |",
            "wait ogive> ",
            // An error ends no shell, and Ctrl-D does.
            r"send  select 'not kept' from nowhere;\r",
            "wait not found",
            "wait ogive> ",
            r"send \x04",
        ],
    );
    assert_eq!(code, 0, "{said}");
    let kept = std::fs::read_to_string(folder.path().join("ogive/sql_history")).unwrap();
    assert_eq!(kept.matches("select max(identity) as most").count(), 1, "{kept}");
    assert!(kept.contains("'names.csv';") && !kept.contains("garbage") && !kept.contains("not kept"), "{kept}");
    // Another shell knows the statements of this one.
    let (code, said) = talk(
        folder.path(),
        &["wait ogive> ", r"send \x1b[A", "wait from 'names.csv';", r"send \r", "wait | 2 |", r"send \\q\r"],
    );
    assert_eq!(code, 0, "{said}");
}
