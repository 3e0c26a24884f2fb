//! Long tests: marked `#[ignore = "long: 3 minutes"]`, run by `cargo xtask test --long`.

use crate::Failure;
use crate::source::{Source, rust_sources};
use std::path::Path;

/// A test that takes minutes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LongTest {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) minutes: u32,
}

/// All long tests of the repository at `root`, by file and place.
pub(crate) fn all(root: &Path) -> Result<Vec<LongTest>, Failure> {
    let sources = rust_sources(root)?;
    Ok(sources.iter().flat_map(|source| ignored(source).into_iter().filter_map(|(_, test)| test)).collect())
}

/// Each ignored test of a file: its line, and what it says, or `None` where that is not of the form above.
pub(crate) fn ignored(source: &Source) -> Vec<(usize, Option<LongTest>)> {
    let raw: Vec<&str> = source.text.lines().collect();
    let code: Vec<&str> = source.code.lines().collect();
    let marked = (0..code.len()).filter(|&index| code[index].trim_start().starts_with("#[ignore"));
    marked.map(|index| (index + 1, parse(&source.path, raw[index], &code[index + 1..]))).collect()
}

fn parse(path: &str, attribute: &str, code_after: &[&str]) -> Option<LongTest> {
    let reason = attribute.trim().strip_prefix("#[ignore = \"long: ")?.strip_suffix("\"]")?;
    let minutes = reason.strip_suffix(" minutes").or_else(|| reason.strip_suffix(" minute"))?.parse().ok()?;
    let after_fn = code_after.iter().find_map(|line| line.trim_start().strip_prefix("fn "))?;
    let name = after_fn.split(['(', '<']).next()?.to_owned();
    Some(LongTest { path: path.to_owned(), name, minutes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_read_from_the_reason_and_anything_else_is_none() {
        let text = "#[test]\n#[ignore = \"long: 3 minutes\"]\nfn many_keys() {}\n#[ignore = \"slow\"]\n\
            fn other() {}\n#[ignore]\nfn third() {}\n";
        let found = ignored(&Source::new("a.rs", text));
        let expected = LongTest { path: "a.rs".to_owned(), name: "many_keys".to_owned(), minutes: 3 };
        assert_eq!(found, [(2, Some(expected)), (4, None), (6, None)]);
    }

    #[test]
    fn an_attribute_inside_a_string_is_no_test() {
        assert!(ignored(&Source::new("a.rs", "const A: &str = \"\n#[ignore]\n\";\n")).is_empty());
    }
}
