//! Dependencies inside the engine point one way: each top-level module may use only those listed for it.

use super::project::Finding;
use crate::source::{Source, is_word, line_number};
use std::collections::BTreeMap;

/// Where the engine's modules live.
const ENGINE: &str = "crates/engine/src/";

/// What each top-level module of the engine may use, itself aside. `tune` knows rows of children and their fences, not
/// the file that holds them; `table` calls `tune`.
const MAY_USE: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("durability", &[]),
    ("options", &[]),
    ("telemetry", &[]),
    ("types", &["block", "error"]),
    ("io", &["telemetry", "error"]),
    ("file_format", &["io", "error"]),
    ("block", &["io", "telemetry", "error"]),
    ("log", &["block", "io", "file_format", "error"]),
    ("tune", &["block", "io", "error"]),
    ("page", &["log", "block", "io", "file_format", "durability", "telemetry", "error"]),
    ("table", &["tune", "block", "io", "file_format", "types", "telemetry", "error"]),
    // Only for its external sort.
    ("index", &["page", "table", "block", "io", "types", "durability", "telemetry", "error"]),
    ("vlog", &["block", "io", "file_format", "error"]),
    (
        "lsm",
        &["vlog", "table", "tune", "log", "block", "io", "file_format", "types", "durability", "telemetry", "error"],
    ),
    ("join", &["lsm", "index", "page", "table", "tune", "block", "io", "types", "durability", "error"]),
    ("typed", &["lsm", "table", "block", "io", "types", "error"]),
    ("backup", &["verify", "lsm", "block", "io", "types", "durability", "file_format", "error"]),
    ("verify", &["lsm", "vlog", "index", "page", "table", "log", "block", "io", "types", "durability", "error"]),
    (
        "repair",
        &["verify", "lsm", "vlog", "index", "page", "table", "log", "block", "io", "types", "durability", "error"],
    ),
];

/// Uses that go against the direction, and modules that have no place in it yet.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let Some(library) = sources.iter().find(|source| source.path == format!("{ENGINE}lib.rs")) else {
        return Vec::new();
    };
    let names = root_names(&library.code);
    let mut found: Vec<Finding> = names
        .iter()
        .filter(|(name, module)| name == module && rule(module).is_none())
        .map(|(name, _)| {
            Finding::new(
                &library.path,
                1,
                format!("module `{name}` has no place yet: say in MAY_USE in {} what it may use", file!()),
            )
        })
        .collect();
    for source in sources {
        if let Some((module, allowed)) = top_module(&source.path).and_then(|module| Some((module, rule(module)?))) {
            found.extend(uses_against(source, module, allowed, &names));
        }
    }
    found
}

fn rule(module: &str) -> Option<&'static [&'static str]> {
    MAY_USE.iter().find(|(name, _)| *name == module).map(|(_, allowed)| *allowed)
}

/// The top-level module that a file of the engine belongs to.
fn top_module(path: &str) -> Option<&str> {
    let inside = path.strip_prefix(ENGINE)?;
    Some(inside.split_once('/').map_or_else(|| inside.trim_end_matches(".rs"), |(module, _)| module))
}

fn uses_against(source: &Source, module: &str, allowed: &[&str], names: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (offset, name) in root_uses(source) {
        let Some(target) = names.get(&name).filter(|target| *target != module && !allowed.contains(&target.as_str()))
        else {
            continue;
        };
        let message = format!(
            "`{module}` may not use `{target}` (only {}): move what both need down, or hand it in as an argument",
            if allowed.is_empty() { "itself".to_owned() } else { allowed.join(", ") }
        );
        found.push(Finding::new(&source.path, line_number(&source.code, offset), message));
    }
    found
}

/// What `crate::NAME` may mean, and the module behind it: each module, and each name that `lib.rs` re-exports from one.
fn root_names(library: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for statement in library.split(';').map(str::trim) {
        let words: Vec<&str> = statement.split_whitespace().collect();
        if let [.., "mod", name] = words[..] {
            names.insert(name.to_owned(), name.to_owned());
        } else if let Some((_, path)) = statement.rsplit_once("pub use ") {
            let path = path.trim_start_matches("crate::").trim_start_matches("self::");
            let (module, items) = path.split_once("::").unwrap_or((path, ""));
            for item in items.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|item| !item.is_empty()) {
                names.entry(item.to_owned()).or_insert_with(|| module.to_owned());
            }
        }
    }
    names
}

/// Offset and name of every use of something at the root of the crate: `crate::name`, `crate::{name, ..}`, and enough
/// `super::` to climb there.
fn root_uses(source: &Source) -> Vec<(usize, String)> {
    let code = &source.code;
    let mut uses = Vec::new();
    for (offset, _) in code.match_indices("crate::").filter(|(offset, _)| starts_word(code, *offset)) {
        uses.extend(names_at(code, offset + "crate::".len()));
    }
    let depth = module_depth(&source.path);
    let mut chain_end = 0;
    for (offset, _) in code.match_indices("super::") {
        if offset < chain_end || !starts_word(code, offset) {
            continue;
        }
        let climbs = code.as_bytes()[offset..].chunks("super::".len()).take_while(|part| *part == b"super::").count();
        chain_end = offset + climbs * "super::".len();
        // Inside an inline module of the file (its tests) the root is one step further up.
        if climbs >= depth {
            uses.extend(names_at(code, chain_end));
        }
    }
    uses
}

fn starts_word(code: &str, offset: usize) -> bool {
    offset == 0 || !is_word(code.as_bytes()[offset - 1])
}

/// How many `super::` lead from the file's module to the root of the crate.
fn module_depth(path: &str) -> usize {
    let inside = path.strip_prefix(ENGINE).unwrap_or(path);
    inside.trim_end_matches(".rs").split('/').filter(|part| *part != "mod").count()
}

/// The name at `offset`, or the first names of the branches of a group `{a::b, c::{d, e}}`.
fn names_at(code: &str, offset: usize) -> Vec<(usize, String)> {
    let word = |from: usize| code[from..].bytes().take_while(|byte| is_word(*byte)).count();
    if !code[offset..].starts_with('{') {
        return vec![(offset, code[offset..offset + word(offset)].to_owned())];
    }
    let (mut depth, mut expects_name, mut names) = (0, false, Vec::new());
    for (index, byte) in code.bytes().enumerate().skip(offset) {
        match byte {
            b'{' => (depth, expects_name) = (depth + 1, depth == 0),
            b'}' if depth == 1 => break,
            b'}' => depth -= 1,
            b',' => expects_name = depth == 1,
            _ if expects_name && is_word(byte) => {
                names.push((index, code[index..index + word(index)].to_owned()));
                expects_name = false;
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "mod error;\npub mod io;\npub mod table;\npub mod tune;\npub use error::{Error, Result};\n\
        pub use table::Table;\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let sources = [Source::new("crates/engine/src/lib.rs", LIBRARY), Source::new(path, text)];
        check(&sources).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_module_may_use_what_lies_below_it() {
        let text = "use crate::{error::{Error, Result}, io::Storage};\nuse crate::Error;\nfn f() { crate::io::g() }\n";
        assert_eq!(lines("crates/engine/src/tune/search.rs", text), []);
    }

    #[test]
    fn a_use_upwards_is_found_in_every_way_of_writing_it() {
        let ways = [
            "use crate::table::Table;",
            "use crate::Table;",
            "use crate::{\n    io::Storage,\n    table::{Table, ReadTrace},\n};",
            "fn f() -> crate::table::Table { g() }",
            "use super::super::table::Table;",
            "mod tests { use super::super::super::table::Table; }",
        ];
        for way in ways {
            assert_eq!(lines("crates/engine/src/tune/search.rs", way).len(), 1, "{way}");
        }
    }

    #[test]
    fn comments_and_other_crates_are_no_uses() {
        let text = "// crate::table\nconst A: &str = \"crate::table\";\nuse mycrate::table;\nuse super::table;\n";
        assert_eq!(lines("crates/engine/src/tune/search.rs", text), []);
    }

    #[test]
    fn a_finding_names_its_line() {
        assert_eq!(
            lines(
                "crates/engine/src/io/local/folder.rs",
                "use std::fs;\nuse crate::{\n    error::Result,\n    tune::Row,\n};\n"
            ),
            [4]
        );
    }

    #[test]
    fn a_module_without_a_rule_is_found() {
        assert_eq!(check(&[Source::new("crates/engine/src/lib.rs", "mod error;\nmod novelty;\n")]).len(), 1);
    }
}
