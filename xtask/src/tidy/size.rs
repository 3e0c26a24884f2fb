//! Files and functions stay small enough to be read at one sitting.

use super::project::Finding;
use crate::source::Source;

const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 70;

/// Findings in one file.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().count();
    let mut found = Vec::new();
    if lines > FILE_LINES {
        found.push(Finding::new(
            &source.path,
            lines,
            format!("{lines} lines, at most {FILE_LINES}: divide the file by subject"),
        ));
    }
    for (line, length) in functions(&source.code).into_iter().filter(|(_, length)| *length > FUNCTION_LINES) {
        let message = format!("a function of {length} lines, at most {FUNCTION_LINES}: name its parts");
        found.push(Finding::new(&source.path, line, message));
    }
    found
}

/// Lines of the Rust files below `root`, without those of tests: files that are named for them, and what follows the
/// first inline module of tests in a file.
pub(crate) fn lines_without_tests(sources: &[Source], root: &str) -> usize {
    let is_test = |path: &str| {
        let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
        path.contains("/tests/") || stem == "tests" || stem.ends_with("_tests") || stem.starts_with("test_")
    };
    let lines = |source: &Source| {
        let lines: Vec<&str> = source.code.lines().collect();
        let inline = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{');
        lines.windows(2).position(inline).unwrap_or(lines.len())
    };
    sources.iter().filter(|source| source.path.starts_with(root) && !is_test(&source.path)).map(lines).sum()
}

/// First line and number of lines of every function, as rustfmt indents it: the body ends at the first closing brace
/// that stands as far left as the function.
fn functions(code: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    let starts = (0..lines.len()).filter(|&index| is_function(lines[index].trim_start()));
    starts.map(|start| (start + 1, function_lines(&lines[start..]))).collect()
}

fn is_function(line: &str) -> bool {
    let mut words = line.split(' ').skip_while(|word| {
        matches!(*word, "pub" | "const" | "async" | "unsafe" | "extern" | "default") || word.starts_with("pub(")
    });
    words.next() == Some("fn") && words.next().is_some()
}

fn function_lines(lines: &[&str]) -> usize {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let own = indentation(lines[0]);
    if lines[0].ends_with(['}', ';']) {
        return 1;
    }
    let after = lines.iter().skip(1);
    let end = after.clone().position(|line| {
        let word = line.trim_start();
        // A declaration without a body ends with its signature: `) -> T;`.
        indentation(line) == own && (word.starts_with('}') || (word.ends_with(';') && !word.is_empty()))
    });
    end.map_or(lines.len(), |index| index + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tests_are_not_counted() {
        let with_tests = "//! A file.\nfn f() {}\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        let sources = [
            Source::new("crates/a/src/b.rs", with_tests),
            Source::new("crates/a/src/tests.rs", "//! Tests.\n"),
            Source::new("crates/a/src/b/c_tests.rs", "//! Tests.\n"),
            Source::new("crates/a/src/contests.rs", "//! Races.\n#[cfg(test)]\nmod tests;\n"),
            Source::new("crates/b/src/b.rs", "//! Another crate.\n"),
        ];
        assert_eq!(lines_without_tests(&sources, "crates/a/src/"), 2 + 3);
    }

    #[test]
    fn a_function_reaches_from_its_name_to_its_brace() {
        let code = "impl A {\n    pub(crate) const fn f(\n        a: u8,\n    ) -> u8 {\n        match a {\n\
                    }\n    }\n\n    fn g() {}\n}\nfn h() {\n}\n";
        assert_eq!(functions(code), [(2, 6), (9, 1), (11, 2)]);
    }

    #[test]
    fn a_declaration_ends_with_its_signature() {
        assert_eq!(functions("trait A {\n    fn f(\n        a: u8,\n    ) -> u8;\n    fn g();\n}\n"), [(2, 3), (5, 1)]);
    }

    #[test]
    fn long_files_and_functions_are_found() {
        let long_function = format!("fn f() {{\n{}}}\n", "    g();\n".repeat(FUNCTION_LINES - 1));
        assert_eq!(check(&Source::new("a.rs", &long_function)).len(), 1);
        assert_eq!(check(&Source::new("a.rs", &long_function.replacen("    g();\n", "", 1))).len(), 0);
        assert_eq!(check(&Source::new("a.rs", &"//\n".repeat(FILE_LINES + 1))).len(), 1);
        assert_eq!(check(&Source::new("a.rs", &"//\n".repeat(FILE_LINES))).len(), 0);
    }
}
