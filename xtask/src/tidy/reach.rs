//! Every Rust file is part of some target: a chain of `mod` leads to it from a crate's root, a test, or a fuzz target.

use super::project::{Finding, Project};
use crate::source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Files that nothing compiles.
pub(crate) fn check(project: &Project) -> Vec<Finding> {
    let by_path: BTreeMap<&str, &Source> =
        project.sources.iter().map(|source| (source.path.as_str(), source)).collect();
    let fuzz_manifest = project.other("fuzz/Cargo.toml").unwrap_or_default();
    let mut waiting: Vec<&str> = by_path.keys().copied().filter(|path| is_root(path, fuzz_manifest)).collect();
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        if let Some(source) = by_path.get(path).filter(|_| reached.insert(path)) {
            for candidate in declared(source, is_root(path, fuzz_manifest)) {
                waiting.extend(by_path.get_key_value(candidate.as_str()).map(|(path, _)| *path));
            }
        }
    }
    let lost = by_path.keys().filter(|path| !reached.contains(**path));
    lost.map(|path| {
        Finding::new(
            path,
            1,
            "nothing compiles this file: declare it with `mod` (a fuzz target: in fuzz/Cargo.toml), or delete it",
        )
    })
    .collect()
}

/// Whether cargo compiles the file without being told by another one.
fn is_root(path: &str, fuzz_manifest: &str) -> bool {
    if let Some(target) = path.strip_prefix("fuzz/fuzz_targets/") {
        return fuzz_manifest.contains(&format!("\"fuzz_targets/{target}\""));
    }
    let mut parts = path.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let parent = parts.next().unwrap_or_default();
    match folder {
        _ if name == "main.rs" && matches!(parent, "tests" | "benches" | "examples") => true,
        "src" => matches!(name, "lib.rs" | "main.rs"),
        "bin" | "tests" | "benches" | "examples" => !path.contains(&format!("src/{folder}/")) || folder == "bin",
        _ => name == "build.rs",
    }
}

/// Paths at which the modules that a file declares may lie.
fn declared(source: &Source, is_root: bool) -> Vec<String> {
    let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let folder = if is_root || name == "mod.rs" {
        folder.to_owned()
    } else {
        format!("{folder}/{}", name.trim_end_matches(".rs"))
    };
    let modules = source.code.lines().filter_map(|line| {
        let (before, name) = line.trim().strip_suffix(';')?.rsplit_once("mod ")?;
        (before.is_empty() || before.ends_with(' ')).then(|| name.trim().to_owned())
    });
    let by_name = modules.flat_map(|module| [format!("{folder}/{module}.rs"), format!("{folder}/{module}/mod.rs")]);
    by_name.chain(paths_of(source)).collect()
}

/// Paths that `#[path = "..."]` names: relative to the folder of the file.
fn paths_of(source: &Source) -> impl Iterator<Item = String> {
    let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    source.text.lines().filter_map(move |line| {
        let path = line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]")?;
        let mut parts: Vec<&str> = folder.split('/').collect();
        for part in path.split('/') {
            if part == ".." {
                parts.pop();
            } else {
                parts.push(part);
            }
        }
        Some(parts.join("/"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        check(&Project { sources, others: Vec::new() }).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn a_chain_of_declarations_reaches_every_file() {
        let files = [
            ("a/src/lib.rs", "mod io;\npub(crate) mod error;"),
            ("a/src/error.rs", ""),
            ("a/src/io/mod.rs", "mod local;"),
            ("a/src/io/local.rs", "#[cfg(test)]\nmod tests;"),
            ("a/src/io/local/tests.rs", ""),
            ("a/tests/crash.rs", "mod common;"),
            ("a/tests/common/mod.rs", ""),
            ("a/tests/db/main.rs", "mod damage;"),
            ("a/tests/db/damage.rs", "#[path = \"../../../b/tests/support.rs\"]\nmod support;"),
            ("b/tests/support.rs", ""),
        ];
        assert!(lost(&files).is_empty());
    }

    #[test]
    fn an_undeclared_file_is_found() {
        let files = [
            ("a/src/main.rs", "// mod old;\nmod new;"),
            ("a/src/new.rs", ""),
            ("a/src/old.rs", ""),
            ("fuzz/fuzz_targets/x.rs", ""),
        ];
        assert_eq!(lost(&files), ["a/src/old.rs", "fuzz/fuzz_targets/x.rs"]);
    }
}
