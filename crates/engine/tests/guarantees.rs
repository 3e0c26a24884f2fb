//! The tests that `docs/guarantees.md` names exist. Goal: a promise does not outlive the test that holds it. Method:
//! behind each link to a Rust file, names in backquotes are functions of that file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "it looks into the source files of the repository")]

use std::path::Path;

const PAGE: &str = include_str!("../../../docs/guarantees.md");

#[test]
fn every_test_named_on_the_page_exists() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut named = 0;
    let links: Vec<&str> = PAGE.split("](").skip(1).filter(|link| link.contains(')')).collect();
    for link in links {
        let (target, behind) = link.split_once(')').unwrap();
        if !target.ends_with(".rs") {
            continue;
        }
        let source = std::fs::read_to_string(docs.join(target)).unwrap();
        // The names end with the bullet.
        let names = behind.split("\n* ").next().unwrap().split("\n\n").next().unwrap();
        for name in names.split('`').skip(1).step_by(2) {
            assert!(source.contains(&format!("fn {name}(")), "{target} has no test {name}");
            named += 1;
        }
    }
    assert!(named > 40, "only {named} tests were found on the page");
}
