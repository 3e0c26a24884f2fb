//! Imports between the files of a crate: which file uses an item that another one defines.
//!
//! A path that begins with `crate`, `self`, `super` or a module of the file leads to the file that defines its item;
//! re-exports are followed, so that a `mod.rs` that only re-exports imports nothing. Items of tests do not count.

use crate::source::{Source, is_word};
use std::collections::{BTreeMap, BTreeSet};

/// Longest chain of re-exports that is followed.
const RE_EXPORTS_MAX: usize = 8;

/// Paths of the files that each file imports from.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// Names of modules from the root of a crate, and perhaps of an item.
pub(crate) type Path = Vec<String>;

/// Imports between the files of the crate whose sources lie in `root`, such as `crates/model/src/`.
pub(crate) fn imports_of(sources: &[Source], root: &str) -> Imports {
    let house = House::new(sources, root);
    house.files.iter().map(|(module, file)| (file.path.clone(), house.imports(module, file))).collect()
}

/// Files that import one another in circles: the strongly connected components of more than one file, largest first.
pub(crate) fn circles(imports: &Imports) -> Vec<Vec<&str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|path| (path.as_str(), reached(imports, path))).collect();
    let mut found: Vec<Vec<&str>> = Vec::new();
    for (path, reached) in &reach {
        if found.iter().any(|circle| circle.contains(path)) {
            continue;
        }
        let circle: Vec<&str> = reached.iter().copied().filter(|other| reach[other].contains(path)).collect();
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

fn reached<'a>(imports: &'a Imports, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(path) = waiting.pop() {
        for next in imports.get(path).into_iter().flatten() {
            if reached.insert(next.as_str()) {
                waiting.push(next);
            }
        }
    }
    reached
}

struct File {
    path: String,
    /// Without tests, comments and strings.
    code: String,
}

/// The modules of a crate.
#[derive(Default)]
pub(crate) struct House {
    /// File of each module.
    files: BTreeMap<Path, File>,
    /// What a name that a module re-exports stands for.
    re_exports: BTreeMap<(Path, String), Path>,
}

impl House {
    /// The modules of the crate whose sources lie in `root`, without those of tests.
    pub(crate) fn new(sources: &[Source], root: &str) -> Self {
        let mut house = Self::default();
        let files = sources.iter().filter_map(|source| Some((source, source.path.strip_prefix(root)?)));
        for (source, inside) in files.filter(|(_, inside)| !is_of_tests(inside)) {
            let file = File { path: source.path.clone(), code: without_tests(&source.code) };
            house.files.insert(module_of(inside), file);
        }
        for (module, file) in &house.files {
            for (statement, is_public) in uses(&file.code) {
                for (path, name) in leaves(statement).into_iter().filter(|_| is_public) {
                    let target = house.absolute(module, &path);
                    house.re_exports.extend(target.map(|target| ((module.clone(), name), target)));
                }
            }
        }
        house
    }

    /// Each module, and its code.
    pub(crate) fn codes(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().map(|(module, file)| (module, file.code.as_str()))
    }

    fn imports(&self, module: &[String], file: &File) -> BTreeSet<String> {
        let re_exports_only = file.path.ends_with("/mod.rs") || file.path.ends_with("/lib.rs");
        let mut paths: Vec<Path> = Vec::new();
        let mut rest = file.code.clone();
        for (statement, is_public) in uses(&file.code) {
            if !(re_exports_only && is_public) {
                paths.extend(leaves(statement).into_iter().map(|(path, _)| path));
            }
            rest = rest.replacen(statement, "", 1);
        }
        paths.extend(paths_in(&rest));
        let targets = paths.iter().filter_map(|path| self.file_of(&self.absolute(module, path)?));
        targets.filter(|target| *target != file.path).map(str::to_owned).collect()
    }

    /// The path from the root of the crate; `None` for one that begins with another crate.
    pub(crate) fn absolute(&self, module: &[String], path: &[String]) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let climbs = path.iter().take_while(|part| *part == "super").count();
                // In an inline module, a `super` more leads to the same place.
                let kept = module.len().saturating_sub(climbs);
                Some([&module[..kept], &path[climbs..]].concat())
            }
            _ => {
                let inside = [module, path].concat();
                let child = &inside[..module.len() + 1];
                let known =
                    self.files.contains_key(child) || self.re_exports.contains_key(&(module.to_vec(), first.clone()));
                known.then_some(inside)
            }
        }
    }

    /// File that defines the item at a path from the root.
    fn file_of(&self, path: &[String]) -> Option<&str> {
        let definition = self.definition(path);
        self.files.get(&definition[..self.module_length(&definition)]).map(|file| file.path.as_str())
    }

    /// The path from the root at which the item of a path is defined: re-exports are followed.
    pub(crate) fn definition(&self, path: &[String]) -> Path {
        let mut path = path.to_vec();
        for _ in 0..RE_EXPORTS_MAX {
            let (module, rest) = path.split_at(self.module_length(&path));
            let target = rest.first().and_then(|name| self.re_exports.get(&(module.to_vec(), name.clone())));
            match target.map(|target| [target, &rest[1..]].concat()) {
                Some(target) if target != path => path = target,
                _ => break,
            }
        }
        path
    }

    /// Number of names of a path that lead to a module: the root, if no more do.
    fn module_length(&self, path: &[String]) -> usize {
        (0..=path.len()).rev().find(|&length| self.files.contains_key(&path[..length])).unwrap_or(0)
    }
}

fn is_of_tests(inside: &str) -> bool {
    let name = inside.rsplit('/').next().unwrap_or(inside);
    inside.contains("tests/") || name == "tests.rs" || name.ends_with("_tests.rs") || name.starts_with("test_")
}

fn module_of(inside: &str) -> Path {
    let parts = inside.trim_end_matches(".rs").split('/');
    parts.filter(|part| !matches!(*part, "mod" | "lib" | "main")).map(str::to_owned).collect()
}

/// The code without the items that are compiled for tests only.
fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some((before, after)) = rest.split_once("#[cfg(test)]") {
        kept.push_str(before);
        rest = &after[item_length(after)..];
    }
    kept + rest
}

/// Length of the item that a text begins with: to the closing brace of its body, or to its semicolon.
pub(crate) fn item_length(text: &str) -> usize {
    let mut depth = 0_usize;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' if depth == 1 => return index + 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// The tree of each `use` statement, and whether it re-exports.
fn uses(code: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for (offset, _) in code.match_indices("use ") {
        let starts_word = offset == 0 || !is_word(code.as_bytes()[offset - 1]);
        if let (true, Some(length)) = (starts_word, code[offset..].find(';')) {
            let line = code[..offset].rsplit(['\n', ';', '}']).next().unwrap_or_default();
            found.push((&code[offset + 4..offset + length], line.trim_start().starts_with("pub")));
        }
    }
    found
}

/// The paths of a tree `a::{b, c as d}`, each with the name that it gets.
pub(crate) fn leaves(tree: &str) -> Vec<(Path, String)> {
    let mut found = Vec::new();
    let mut prefixes: Vec<Path> = vec![Vec::new()];
    let mut path: Path = Vec::new();
    let mut name = None;
    let mut words = words(tree).peekable();
    while let Some(word) = words.next() {
        match word {
            "{" => prefixes.push(std::mem::take(&mut path)),
            "," | "}" => {
                close(&mut found, &prefixes, &mut path, &mut name);
                if word == "}" {
                    prefixes.pop();
                }
            }
            "as" => name = words.next().map(str::to_owned),
            _ => path.push(word.to_owned()),
        }
    }
    close(&mut found, &prefixes, &mut path, &mut name);
    found
}

fn close(found: &mut Vec<(Path, String)>, prefixes: &[Path], path: &mut Path, name: &mut Option<String>) {
    let path = std::mem::take(path);
    if let Some(last) = path.last() {
        let whole: Path = prefixes.concat().into_iter().chain(path.iter().cloned()).collect();
        found.push((whole, name.take().unwrap_or_else(|| last.clone())));
    }
}

/// Identifiers and the signs `{`, `}`, `,` of a tree.
fn words(tree: &str) -> impl Iterator<Item = &str> {
    let mut rest = tree;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !("{},".contains(c) || c.is_ascii() && is_word(c as u8)));
        let first = rest.chars().next()?;
        let length = if "{},".contains(first) { 1 } else { rest.bytes().take_while(|byte| is_word(*byte)).count() };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(word)
    })
}

/// Paths in code outside `use` statements that begin with `crate`, `self` or `super`.
fn paths_in(code: &str) -> Vec<Path> {
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (offset, _) in code.match_indices(start) {
            let before = &code[..offset];
            // `pub(in crate::a)` imports nothing, and the later parts of `super::super::a` begin nothing.
            if before.ends_with("in ") || before.ends_with("::") || before.bytes().last().is_some_and(is_word) {
                continue;
            }
            let length = code[offset..].bytes().take_while(|byte| is_word(*byte) || *byte == b':').count();
            let parts = code[offset..offset + length].split("::").filter(|part| !part.is_empty());
            found.push(parts.map(str::to_owned).collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle_sizes(files: &[(&str, &str)]) -> Vec<usize> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(&format!("a/src/{path}"), text)).collect();
        circles(&imports_of(&sources, "a/src/")).iter().map(Vec::len).collect()
    }

    #[test]
    fn files_that_import_one_another_are_a_circle() {
        let files =
            [("lib.rs", "mod a;\nmod b;\nmod c;"), ("a.rs", "use super::b::B;"), ("b.rs", "fn f() { crate::a::g() }")];
        assert_eq!(circle_sizes(&files), [2]);
        assert_eq!(circle_sizes(&[files[0], files[1], ("b.rs", "use crate::c::C;"), ("c.rs", "struct C;")]), []);
    }

    #[test]
    fn re_exports_lead_to_the_file_that_defines() {
        let files = [
            ("lib.rs", "mod room;"),
            ("room/mod.rs", "mod a;\nmod b;\npub use a::{A, B as C};\npub(crate) use b::D;"),
            ("room/a.rs", "use crate::room::D;"),
            ("room/b.rs", "use crate::{io, room::{C}};"),
        ];
        assert_eq!(circle_sizes(&files), [2]);
    }

    #[test]
    fn tests_comments_and_restricted_visibility_import_nothing() {
        let text = "// crate::b::B\npub(in crate::b) struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }\n";
        assert_eq!(circle_sizes(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", text), ("b.rs", "use crate::a::A;")]), []);
    }
}
