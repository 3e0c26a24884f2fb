//! Joins by every method of the program: equal rows, and no output where a side is damaged. Method: whole runs.
//! `ogive-research` runs the same tests with its methods.

use super::run::{Folder, Run, sosd, uneven_keys};
use crate::METHODS;

fn join(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&[&["join"], arguments].concat())
}

#[test]
fn every_method_gives_the_same_rows() {
    let folder = Folder::new();
    let keys = uneven_keys(20_000);
    let some: Vec<u64> = keys.iter().copied().step_by(7).chain([u64::MAX]).collect();
    folder.write("keys.u64", sosd(&keys));
    folder.write("some.u64", sosd(&some));
    folder.build("keys.u64", "keys.ogive", &["--payload", "8"]);
    folder.build("some.u64", "some.ogive", &["--payload", "8"]);
    let expected = join(&folder, &["some.ogive", "keys.ogive", "-o", "-", "--method", "merge"]).exits_with(0).stdout;
    assert_eq!(expected.lines().count(), some.len() - 1);
    for method in METHODS {
        let run = join(&folder, &["some.ogive", "keys.ogive", "-o", "-", "--method", method]).exits_with(0);
        assert_eq!(run.stdout, expected, "{method}");
        let run = join(&folder, &["some.ogive", "keys.ogive", "-o", "-", "--method", method, "--threads", "2"]);
        assert_eq!(run.exits_with(0).stdout, expected, "{method} with two threads");
    }
}

#[test]
fn a_damaged_side_leaves_no_output() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(20_000)));
    folder.build("keys.u64", "keys.ogive", &["--payload", "8"]);
    folder.build("keys.u64", "bad.ogive", &["--payload", "8"]);
    let mut content = std::fs::read(folder.path("bad.ogive")).unwrap();
    content[100_000] ^= 1;
    folder.write("bad.ogive", content);
    let before = folder.names();
    for method in METHODS {
        let run = join(&folder, &["keys.ogive", "bad.ogive", "-o", "both.ogive", "--method", method]);
        run.exits_with(1).complains_of("bad.ogive");
        assert_eq!(folder.names(), before, "{method}");
    }
}

#[test]
fn an_explanation_names_every_method_with_its_cost_or_the_reason_against_it() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(2_000)));
    folder.build("keys.u64", "keys.ogive", &["--payload", "8"]);
    let run = join(&folder, &["keys.ogive", "keys.ogive", "-o", "both.ogive", "--explain"]).exits_with(0);
    for method in METHODS.iter().filter(|method| **method != "auto") {
        let name = method.trim_end_matches(|letter: char| letter == ':' || letter.is_ascii_digit());
        assert!(run.stdout.contains(name), "{method}: {}", run.stdout);
    }
    let told = join(&folder, &["keys.ogive", "keys.ogive", "-o", "b.ogive", "--explain", "--json"]);
    let alternatives = told.exits_with(0).json_lines()[0]["alternatives"].as_array().unwrap().len();
    // All but the choice itself, and the method for open indexes.
    assert!(alternatives >= METHODS.len(), "{alternatives}");
}
