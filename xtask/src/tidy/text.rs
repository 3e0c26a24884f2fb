//! Rules for every text file: no notes to self, no paths of one machine; and links in documents that lead somewhere.

use super::project::{Finding, Project};
use crate::source::is_word;
use std::collections::BTreeSet;

/// Words that no file may hold, and why. They are put together here so that this file may hold them.
const BANNED: &[(&str, &str)] = &[
    (concat!("TO", "DO"), "do it, or leave it out"),
    (concat!("FIX", "ME"), "repair it"),
    (concat!("X", "XX"), "say what is meant"),
    (concat!("/wo", "rk/"), "a path of one machine means nothing to a reader"),
    (concat!("/tmp/", "keys"), "a path of one machine means nothing to a reader"),
    (concat!("as an ", "AI"), "speak of the code"),
];

/// Files whose words are not ours.
const FOREIGN: &[&str] = &[
    "Cargo.lock",
    "fuzz/Cargo.lock",
    "import/Cargo.lock",
    "research/rivals/Cargo.lock",
    "sql/Cargo.lock",
    "LICENSE-APACHE",
];

/// Banned words in one file.
pub(crate) fn check(path: &str, content: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    if FOREIGN.contains(&path) {
        return found;
    }
    for (index, line) in content.lines().enumerate() {
        for (word, advice) in BANNED.iter().filter(|(word, _)| holds_word(line, word)) {
            found.push(Finding::new(path, index + 1, format!("`{word}` is banned: {advice}")));
        }
    }
    found
}

/// Whether `word` stands in the line by itself, not as a part of a longer one.
pub(super) fn holds_word(line: &str, word: &str) -> bool {
    let bytes = line.as_bytes();
    line.match_indices(word).any(|(offset, _)| {
        let end = offset + word.len();
        let closed = |inner: u8, outer: Option<&u8>| !is_word(inner) || outer.is_none_or(|byte| !is_word(*byte));
        let before = offset.checked_sub(1).and_then(|index| bytes.get(index));
        before.is_none_or(|byte| !is_word(*byte)) && closed(bytes[end - 1], bytes.get(end))
    })
}

/// Links of a document to files of this repository that do not exist.
pub(crate) fn check_links(path: &str, content: &str, project: &Project) -> Vec<Finding> {
    let mut found = Vec::new();
    if !path.ends_with(".md") {
        return found;
    }
    let known = known_paths(project);
    for (index, line) in content.lines().enumerate() {
        for target in link_targets(line) {
            if resolve(path, target).is_none_or(|resolved| !known.contains(resolved.as_str())) {
                found.push(Finding::new(path, index + 1, format!("the link to `{target}` leads nowhere: correct it")));
            }
        }
    }
    found
}

/// Pages of the book that its table of contents does not list.
pub(crate) fn check_contents(project: &Project) -> Vec<Finding> {
    let Some(contents) = project.other(CONTENTS) else { return Vec::new() };
    let listed: BTreeSet<String> =
        contents.lines().flat_map(link_targets).filter_map(|target| resolve(CONTENTS, target)).collect();
    let pages = project.others.iter().map(|(path, _)| path);
    let missing = pages.filter(|path| path.starts_with("docs/") && path.ends_with(".md") && *path != CONTENTS);
    let missing = missing.filter(|path| !listed.contains(*path));
    missing.map(|path| Finding::new(path, 1, format!("the page is not in the book: list it in {CONTENTS}"))).collect()
}

/// The table of contents of the book.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Every text file, and every folder above one.
fn known_paths(project: &Project) -> BTreeSet<&str> {
    let sources = project.sources.iter().map(|source| source.path.as_str());
    let files = sources.chain(project.others.iter().map(|(path, _)| path.as_str()));
    files
        .flat_map(|path| std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(folder, _)| folder)))
        .collect()
}

/// Targets of the relative links of a line: what stands between `](` and `)`, without `#part`.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or_default().trim_end_matches('/'));
    files.filter(|target| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:"))
}

/// Path from the root of what `target` means in the document at `path`; `None` when it climbs out.
fn resolve(path: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banned_words_are_found_alone_and_not_inside_others() {
        let note = concat!("// TO", "DO: later");
        assert_eq!(check("a.rs", &format!("fine\n{note}\n"))[0].line, 2);
        assert_eq!(check("a.md", concat!("see /wo", "rk/x and /tmp/", "keys/y")).len(), 2);
        assert!(check("a.md", concat!("AUTO", "DO, MY", "TO", "DOS, frame", "/wo", "rk/", "load")).is_empty());
        assert!(check("Cargo.lock", note).is_empty());
    }

    #[test]
    fn a_page_that_the_contents_do_not_list_is_found() {
        let text = "- [a](a.md)\n  - [b](sub/b.md#part)\n".to_owned();
        let pages =
            ["docs/a.md", "docs/sub/b.md", "docs/c.md", "README.md"].map(|path| (path.to_owned(), String::new()));
        let others = pages.into_iter().chain([(CONTENTS.to_owned(), text)]).collect();
        let found = check_contents(&Project { sources: Vec::new(), others });
        assert_eq!(found.iter().map(|finding| &*finding.path).collect::<Vec<_>>(), ["docs/c.md"]);
    }

    #[test]
    fn a_link_to_a_missing_file_is_found() {
        let others = vec![("docs/format/table.md".to_owned(), String::new()), ("README.md".to_owned(), String::new())];
        let project = Project { sources: Vec::new(), others };
        let text = "[a](table.md) [b](../../README.md#top) [c](../format/) [d](https://x.org/y) \
            [e](#here)\n[f](missing.md) [g](../../../x)\n";
        let lines: Vec<usize> =
            check_links("docs/format/page.md", text, &project).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2, 2]);
    }
}
