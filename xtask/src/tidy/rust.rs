//! Rules for one Rust file: a module doc, nothing unfinished, no silenced lint, ignored tests only where they are long.

use super::project::Finding;
use crate::long;
use crate::source::{Source, is_word, line_number};

/// Findings in one file.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(module_doc(source));
    found.extend(unfinished(source));
    found.extend(module_file(source));
    for (line, _) in long::ignored(source).into_iter().filter(|(_, test)| test.is_none()) {
        let message = "an ignored test is a long one: write #[ignore = \"long: 3 minutes\"], or repair the test";
        found.push(Finding::new(&source.path, line, message));
    }
    found
}

fn module_doc(source: &Source) -> Option<Finding> {
    let what = if source.path.contains("/tests/") {
        "the goal of the tests and their method"
    } else {
        "what the module is for"
    };
    (!source.text.starts_with("//! "))
        .then(|| Finding::new(&source.path, 1, format!("begin the file with a `//!` comment: {what}")))
}

/// Macros that stand for code to come, and attributes that silence a lint without a word when it stops firing.
fn unfinished(source: &Source) -> Vec<Finding> {
    let bans = [
        ("todo!", "write the code; nothing unfinished is committed"),
        ("unimplemented!", "write the code, or return a typed error"),
        ("#[allow(", "use #[expect(lint, reason = \"...\")], which says why and reports when it is no longer needed"),
        ("#![allow(", "use #![expect(lint, reason = \"...\")], which says why and reports when it is no longer needed"),
    ];
    let mut found = Vec::new();
    // Helpers of an integration test are shared by files that use different ones of them.
    let is_test_file = source.path.contains("/tests/");
    for (word, advice) in bans.into_iter().filter(|(word, _)| !(is_test_file && *word == "#![allow(")) {
        for (offset, _) in source.code.match_indices(word) {
            let inside_word = offset > 0 && is_word(word.as_bytes()[0]) && is_word(source.code.as_bytes()[offset - 1]);
            if !inside_word {
                found.push(Finding::new(
                    &source.path,
                    line_number(&source.code, offset),
                    format!("`{word}` is banned: {advice}"),
                ));
            }
        }
    }
    found
}

/// A `mod.rs` of a library or program documents, declares and re-exports; code has a file with a name.
fn module_file(source: &Source) -> Option<Finding> {
    if !source.path.ends_with("/mod.rs") || !source.path.contains("/src/") {
        return None;
    }
    let code = without_attributes(&source.code);
    let mut offset = 0;
    for statement in code.split(';') {
        let start = offset + statement.len() - statement.trim_start().len();
        offset += statement.len() + 1;
        if !statement.trim().is_empty() && !is_declaration(statement.trim()) {
            let message = "mod.rs only documents, declares and re-exports: move this into a file with a name";
            return Some(Finding::new(&source.path, line_number(&code, start), message));
        }
    }
    None
}

fn is_declaration(statement: &str) -> bool {
    let declared = statement.strip_prefix("pub(").and_then(|rest| rest.split_once(')')).map_or(statement, |(_, it)| it);
    match declared.split_whitespace().find(|word| *word != "pub") {
        Some("mod") => !statement.contains('{'),
        Some("use") => true,
        _ => false,
    }
}

/// The code with every `#[..]` and `#![..]` blanked out.
fn without_attributes(code: &str) -> String {
    let (mut depth, mut inside) = (0usize, false);
    let blank = code.chars().map(|character| {
        inside |= character == '#';
        let hide = inside;
        match character {
            '[' if inside => depth += 1,
            ']' if inside => {
                depth = depth.saturating_sub(1);
                inside = depth > 0;
            }
            _ => {}
        }
        if hide && character != '\n' { ' ' } else { character }
    });
    blank.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_file_begins_with_its_module_doc() {
        assert_eq!(lines("a/src/x.rs", "//! What it is for.\nfn f() {}\n"), []);
        assert_eq!(lines("a/src/x.rs", "fn f() {}\n//! Late.\n"), [1]);
    }

    #[test]
    fn unfinished_code_is_found_but_not_in_comments_or_longer_words() {
        assert_eq!(lines("a/src/x.rs", "//! Doc.\nfn f() { todo!() }\nfn g() { unimplemented!(\"x\") }\n"), [2, 3]);
        assert_eq!(lines("a/src/x.rs", "//! Doc of todo!().\nfn f() { not_todo!(\"todo!\") }\n"), []);
    }

    #[test]
    fn a_lint_is_expected_never_allowed() {
        assert_eq!(lines("a/src/x.rs", "//! Doc.\n#[allow(dead_code)]\nfn f() {}\n"), [2]);
        let test_file = "//! Doc.\n#![allow(clippy::unwrap_used, reason = \"a test fails by panicking\")]\n\
            #[allow(dead_code)]\nfn f() {}\n";
        assert_eq!(lines("a/tests/x.rs", test_file), [3]);
        assert_eq!(lines("a/src/x.rs", "//! Doc.\n#[expect(dead_code, reason = \"shown\")]\nfn f() {}\n"), []);
    }

    #[test]
    fn a_module_file_only_declares_and_re_exports() {
        let good = "//! Doc.\n\n#[cfg(test)]\nmod tests;\npub(crate) mod a;\n\
            pub(in crate::b) mod c;\npub use a::{\n    B,\n    C,\n};\n";
        assert_eq!(lines("a/src/x/mod.rs", good), []);
        assert_eq!(lines("a/src/x/mod.rs", "//! Doc.\nmod a;\n\nfn f() {}\n"), [4]);
        assert_eq!(lines("a/src/x/mod.rs", "//! Doc.\nmod a { fn f() {} }\n"), [2]);
        assert_eq!(lines("a/tests/common/mod.rs", "//! Doc.\nfn f() {}\n"), []);
    }

    #[test]
    fn an_ignored_test_states_its_minutes() {
        assert_eq!(lines("a/src/x.rs", "//! Doc.\n#[ignore]\nfn f() {}\n"), [2]);
        assert_eq!(lines("a/src/x.rs", "//! Doc.\n#[ignore = \"long: 2 minutes\"]\nfn f() {}\n"), []);
    }
}
