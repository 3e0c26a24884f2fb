//! Rules of language: file headers are nouns, lines fit a page, type names are unique, retired words stay retired.

use super::project::{Finding, Project};
use crate::source::{Source, is_word};
use std::collections::BTreeMap;

/// Columns of a line, in characters.
const COLUMNS_MAX: usize = 120;

/// Questions that a file header is not.
const QUESTIONS: [&str; 4] = ["What", "Which", "Who", "How"];

/// Words that the project no longer uses, and what it says instead.
const RETIRED: &[(&str, &str)] = &[
    ("somebody", "name the caller, the program or the user"),
    ("nobody", "say that there is none"),
    ("whoever", "name the caller, the program or the user"),
    ("astray", "say that it is wrong"),
    ("thereby", "say how"),
    ("so many", "name the number"),
    ("so much", "name the amount"),
    ("quick way", "write `fast path`"),
    ("slow way", "write `fallback`"),
    ("at hand", "write `current`"),
    ("mend", "write `repair`"),
    ("salvage", "write `recover`"),
    ("survey", "write `scan`"),
    ("receipt", "write `read trace`"),
    ("tally", "write `statistics`"),
    ("stretch", "write `run` or `extent`"),
    ("glass", "write `coarse view`"),
    ("outline", "write `key histogram`"),
    ("bond", "write `binding`"),
    ("doubtful", "write `unconfirmed`"),
    ("nonsense", "write `invalid`"),
    ("coordinate", "write `key`, or `key prefix`"),
];

/// The header and the width of one Rust file.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    let header = source.text.lines().next().unwrap_or_default();
    let first_word = header.trim_start_matches("//!").split_whitespace().next();
    if header.starts_with("//!") && first_word.is_some_and(|word| QUESTIONS.contains(&word)) {
        found.push(Finding::new(&source.path, 1, "the header is a question: name what the file is"));
    }
    for (line, width) in wide_lines(&source.text) {
        let message = format!("{width} columns, at most {COLUMNS_MAX}: break the line");
        found.push(Finding::new(&source.path, line, message));
    }
    found.extend(retired_words(&source.path, &source.text));
    found
}

/// The width of one document, but for its tables and examples, whose lines cannot be broken.
pub(crate) fn check_document(path: &str, content: &str) -> Vec<Finding> {
    if !path.ends_with(".md") {
        return Vec::new();
    }
    let mut is_example = false;
    let mut prose = String::new();
    for line in content.lines() {
        is_example ^= line.trim_start().starts_with("```");
        if !is_example && !line.trim_start().starts_with('|') {
            prose.push_str(line);
        }
        prose.push('\n');
    }
    let wide = wide_lines(&prose).into_iter().map(|(line, width)| {
        Finding::new(path, line, format!("{width} columns, at most {COLUMNS_MAX}: break the line"))
    });
    wide.chain(retired_words(path, content)).collect()
}

fn wide_lines(text: &str) -> Vec<(usize, usize)> {
    let widths = text.lines().map(|line| line.chars().count()).enumerate();
    widths.filter(|&(_, width)| width > COLUMNS_MAX).map(|(index, width)| (index + 1, width)).collect()
}

fn retired_words(path: &str, text: &str) -> Vec<Finding> {
    // The list itself has to name them.
    if path == "xtask/src/tidy/language.rs" || path == "docs/glossary.md" {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in [path].into_iter().chain(text.lines()).enumerate() {
        let words = words(line);
        for (word, advice) in RETIRED.iter().filter(|(word, _)| says(&words, word)) {
            found.push(Finding::new(path, index.max(1), format!("`{word}` is retired: {advice}")));
        }
    }
    found
}

/// The words of a line in lower case, each between spaces: `StoreBond` and `store_bond` are two each.
fn words(line: &str) -> String {
    let mut words = String::with_capacity(line.len() + 2);
    let mut previous = ' ';
    words.push(' ');
    for letter in line.chars() {
        if previous.is_lowercase() && letter.is_uppercase() {
            words.push(' ');
        }
        words.push(if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' });
        previous = letter;
    }
    words.push(' ');
    words
}

/// Whether a word or its plural is among `words`.
fn says(words: &str, word: &str) -> bool {
    words.match_indices(word).any(|(at, _)| {
        let after = &words[at + word.len()..];
        words[..at].ends_with(' ') && (after.starts_with(' ') || after.starts_with("s "))
    })
}

/// Types that have the name of another type of the same crate, tests aside.
pub(crate) fn check_names(project: &Project) -> Vec<Finding> {
    let mut places: BTreeMap<(&str, &str), Vec<(&str, usize)>> = BTreeMap::new();
    for source in &project.sources {
        let Some(name) = crate_name(&source.path) else { continue };
        for (line, type_name) in type_names(&source.code) {
            places.entry((name, type_name)).or_default().push((&source.path, line));
        }
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    let finding = |((_, name), places): ((&str, &str), Vec<(&str, usize)>)| {
        let (path, line) = places[0];
        let others: Vec<&str> = places[1..].iter().map(|(path, _)| *path).collect();
        let message = format!("`{name}` is also a type of {}: say in each name whose it is", others.join(", "));
        Finding::new(path, line, message)
    };
    repeated.map(finding).collect()
}

/// The crate that a file of code, not of tests, belongs to.
fn crate_name(path: &str) -> Option<&str> {
    let (name, rest) = path.strip_prefix("crates/").unwrap_or(path).split_once('/')?;
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/") || path.contains("/harness/");
    (rest.starts_with("src/") && !is_test).then_some(name)
}

/// Lines and names of the types that a file defines at its top level: within modules of tests they are indented.
fn type_names(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().filter_map(|(index, line)| {
        if line.starts_with(char::is_whitespace) {
            return None;
        }
        // `pub(in crate::join) struct ...`
        let item = line.strip_prefix("pub(").and_then(|rest| rest.split_once(')')).map_or(line, |(_, item)| item);
        let mut words =
            item.split(|byte: char| !byte.is_ascii() || !is_word(byte as u8)).filter(|word| !word.is_empty());
        let mut word = words.next()?;
        while matches!(word, "pub" | "unsafe") {
            word = words.next()?;
        }
        let name = matches!(word, "struct" | "enum" | "trait" | "type").then(|| words.next())??;
        Some((index + 1, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_asks_and_a_line_that_is_too_wide_are_found() {
        let wide = format!("{}{}", "é".repeat(60), "x".repeat(61));
        let found = check(&Source::new("crates/a/src/b.rs", &format!("//! What it is.\nfn f() {{}}\n// {wide}\n")));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 3]);
        assert!(check(&Source::new("crates/a/src/b.rs", "//! Whatever it is, within 120 columns.\n")).is_empty());
        let page = format!("{wide}\n| {wide} |\n```\n{wide}\n```\n{wide}\n");
        let lines: Vec<usize> = check_document("a.md", &page).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 6]);
    }

    #[test]
    fn a_retired_word_is_found_in_names_of_any_form_and_in_paths_but_not_inside_others() {
        let lines = |text: &str| check_document("a.md", text).iter().map(|finding| finding.line).collect::<Vec<_>>();
        assert_eq!(
            lines("StoreBond\nfn bond_of()\ntwo Bonds.\nbonded\nvagabond\nso\nmany\nin so many words\n"),
            [1, 2, 3, 8]
        );
        assert_eq!(check_document("docs/bond.md", "").len(), 1);
    }

    #[test]
    fn a_type_name_is_found_twice_in_a_crate_but_not_in_two_or_in_tests() {
        let source = |path: &str| {
            Source::new(path, "pub(in crate::x) struct A;\npub(crate) enum B {}\nmod tests {\n    struct A;\n}\n")
        };
        let project =
            |paths: &[&str]| Project { sources: paths.iter().map(|path| source(path)).collect(), others: Vec::new() };
        assert_eq!(check_names(&project(&["crates/x/src/a.rs", "crates/x/src/b/c.rs"])).len(), 2);
        let apart = ["crates/x/src/a.rs", "crates/y/src/a.rs", "crates/x/src/a_tests.rs", "crates/x/tests/a.rs"];
        assert!(check_names(&project(&apart)).is_empty());
    }
}
