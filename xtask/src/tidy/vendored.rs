//! The chart library of reports: the checked-in file has the version of its lock file, and its licence is beside it.

use super::project::{Finding, Project};

const LOCK: &str = "crates/report/assets/package-lock.json";
const LIBRARY: &str = "crates/report/assets/uplot.min.js";
const LICENCE: &str = "crates/report/assets/LICENSE-uPlot";

/// A library of another version than its lock file states, or without its licence.
pub(crate) fn check(project: &Project) -> Vec<Finding> {
    let Some(library) = project.other(LIBRARY) else { return Vec::new() };
    let stated = project.other(LOCK).and_then(version);
    // /*! https://github.com/leeoniya/uPlot (v1.6.32) */
    let header = library.lines().next().unwrap_or_default();
    let mut found = Vec::new();
    if !stated.is_some_and(|stated| header.contains(&format!("(v{stated})"))) {
        let message = format!("not the version of {LOCK}: run `cargo xtask vendor-charts`");
        found.push(Finding::new(LIBRARY, 1, message));
    }
    if !project.other(LICENCE).is_some_and(|text| text.contains("MIT License")) {
        found.push(Finding::new(LICENCE, 1, "the licence of the library is missing: run `cargo xtask vendor-charts`"));
    }
    found
}

/// The version that a lock file of npm states for uPlot.
fn version(lock: &str) -> Option<&str> {
    let package = lock.split_once("\"node_modules/uplot\"")?.1;
    package.split_once("\"version\"")?.1.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_of_another_version_or_without_licence_is_found() {
        let lock = "{\"packages\": {\"node_modules/uplot\": {\n\"version\": \"1.6.32\"}}}";
        let find = |library: &str, licence: &str| {
            let files = [(LOCK, lock), (LIBRARY, library), (LICENCE, licence)];
            let others = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
            check(&Project { sources: Vec::new(), others }).len()
        };
        assert_eq!(find("/*! uPlot (v1.6.32) */\nvar", "The MIT License (MIT)"), 0);
        assert_eq!(find("/*! uPlot (v1.6.3) */", "The MIT License (MIT)"), 1);
        assert_eq!(find("/*! uPlot (v1.6.32) */", ""), 1);
    }
}
