//! The size of the documented interface of the engine: names that programs may use, and have to be told apart.
//!
//! Counted are structs, enums, unions, traits, functions, constants, statics, types and exported macros that are
//! reachable through public modules, with all features; methods, fields, variants and modules are not, nor is what
//! `index::extend` adds. What is re-exported under several paths counts once. `#[doc(hidden)]` on the item, its
//! re-export or its module takes it out.

use super::imports::{House, Path, item_length, leaves};
use super::project::Finding;
use crate::source::{Source, is_word};
use std::collections::{BTreeMap, BTreeSet};

/// Root of the sources of the engine.
pub(crate) const ROOT: &str = "crates/engine/src/";
/// Most items of the interface: what one page can list, and one person remember. Four of them are transactions: the
/// type, its ranges, its isolation, and typed keyspaces in it. Five are indexes that the store keeps: what one is of,
/// the index, the records that it leads to, those in a transaction, and the index by Rust types. Five are for followers
/// of a store: positions, the iterator, its batches, their changes, and tables that were ingested. Two are for records
/// that expire: options, and rules of keyspaces. Five came with options of keyspaces, and with archives of changes:
/// moments, runs, and what is restored. Two are stores and ranges of asynchronous programs, and two the progress and
/// findings of scrubbing.
const EXPORTS_MAX: usize = 205;

/// The interface of those who write structures of indexes, a page of its own, which is not counted.
const SEAM: [&str; 2] = ["index", "extend"];

/// Words of an item that stand before its kind.
const QUALIFIERS: [&str; 3] = ["async", "unsafe", "extern"];
/// Kinds of items that are counted.
const KINDS: [&str; 8] = ["struct", "enum", "union", "trait", "fn", "const", "static", "type"];

/// Paths of the exported items of the engine.
pub(crate) fn exports(sources: &[Source]) -> BTreeSet<String> {
    exports_of(sources, ROOT)
}

/// A finding if the interface is too large.
pub(crate) fn check(sources: &[Source]) -> Option<Finding> {
    let count = exports(sources).len();
    (count > EXPORTS_MAX).then(|| {
        let message = format!(
            "{count} exported items, at most {EXPORTS_MAX}: make helpers private, and hide what only crates of this \
             repository need"
        );
        Finding::new(&format!("{ROOT}lib.rs"), 1, message)
    })
}

fn exports_of(sources: &[Source], root: &str) -> BTreeSet<String> {
    let house = House::new(sources, root);
    let mut search = Search { house: &house, modules: BTreeMap::new(), found: BTreeSet::new() };
    for (module, code) in house.codes() {
        search.modules.insert(module.clone(), items(code));
        // An exported macro is at the root, wherever it is defined.
        let macros = search.modules[module].iter().filter(|item| item.kind == "macro_rules");
        let exported = macros.filter(|item| item.attributes.contains("macro_export") && !item.is_hidden());
        search.found.extend(exported.map(|item| format!("{}!", item.name)));
    }
    search.module(&Path::new());
    search.found
}

/// A walk through the public modules.
struct Search<'a> {
    house: &'a House,
    modules: BTreeMap<Path, Vec<Item<'a>>>,
    found: BTreeSet<String>,
}

impl<'a> Search<'a> {
    fn module(&mut self, module: &Path) {
        let items = self.modules.get(module).cloned().unwrap_or_default();
        self.items(module, &items);
    }

    fn items(&mut self, module: &Path, items: &[Item<'a>]) {
        for item in items.iter().filter(|item| item.is_public && !item.is_hidden()) {
            match item.kind {
                "use" => {
                    for (path, _) in leaves(item.tree()) {
                        self.re_export(module, &path);
                    }
                }
                "mod" => {
                    let inside = [module.as_slice(), &[item.name.to_owned()]].concat();
                    match item.body() {
                        // Paths of an inline module begin where those of its file do, one `super` later.
                        Some(body) => self.items(&inside, &self::items(body)),
                        None if inside == SEAM => {}
                        None => self.module(&inside),
                    }
                }
                kind if KINDS.contains(&kind) => {
                    self.found.insert(format!("{}::{}", module.join("::"), item.name));
                }
                _ => {}
            }
        }
    }

    /// What a path of a `pub use` in a module leads to: an item, or a module.
    fn re_export(&mut self, module: &Path, path: &Path) {
        let Some(target) = self.house.absolute(module, path) else {
            self.found.insert(path.join("::"));
            return;
        };
        let target = self.house.definition(&target);
        if self.modules.contains_key(&target) {
            return self.module(&target);
        }
        let Some((name, module)) = target.split_last() else { return };
        let defined = self.modules.get(module).into_iter().flatten().find(|item| item.name == name);
        if !defined.is_some_and(Item::is_hidden) {
            self.found.insert(target.join("::"));
        }
    }
}

/// An item of a module.
#[derive(Clone)]
struct Item<'a> {
    attributes: &'a str,
    is_public: bool,
    kind: &'a str,
    name: &'a str,
    text: &'a str,
}

impl<'a> Item<'a> {
    fn is_hidden(&self) -> bool {
        self.attributes.contains("doc(hidden)") || self.attributes.contains("cfg(doctest)")
    }

    /// The tree of a `use` statement.
    fn tree(&self) -> &'a str {
        self.text.split_once("use ").map_or("", |(_, tree)| tree)
    }

    /// The items of an inline module.
    fn body(&self) -> Option<&'a str> {
        Some(self.text.split_once('{')?.1.trim_end().trim_end_matches('}'))
    }
}

/// The items of a file or of the body of a module, in their order.
fn items(code: &str) -> Vec<Item<'_>> {
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while !rest.is_empty() {
        let attributes_length = attributes_length(rest);
        let (attributes, after) = rest.split_at(attributes_length);
        let (text, after) = after.split_at(item_length(after));
        rest = after.trim_start();
        found.extend(item(attributes, text));
    }
    found
}

fn item<'a>(attributes: &'a str, text: &'a str) -> Option<Item<'a>> {
    let mut words = text.split(|c: char| !(c.is_ascii() && is_word(c as u8))).filter(|word| !word.is_empty());
    let is_public = text.trim_start().strip_prefix("pub").is_some_and(|rest| rest.starts_with(char::is_whitespace));
    let mut kind = words.find(|word| *word != "pub" && !QUALIFIERS.contains(word))?;
    let mut name = words.next().unwrap_or_default();
    if kind == "const" && name == "fn" {
        (kind, name) = (name, words.next()?);
    }
    Some(Item { attributes, is_public, kind, name, text })
}

/// Length of the attributes that a text begins with, and of the blanks after them.
fn attributes_length(text: &str) -> usize {
    let (mut depth, mut inside) = (0_usize, false);
    for (offset, character) in text.char_indices() {
        match character {
            '#' if depth == 0 => inside = true,
            '[' if inside => depth += 1,
            ']' if depth > 0 => {
                depth -= 1;
                inside = depth > 0;
            }
            _ if inside || depth > 0 || character.is_whitespace() => {}
            _ => return offset,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(&format!("a/src/{path}"), text)).collect();
        exports_of(&sources, "a/src/").into_iter().collect()
    }

    #[test]
    fn an_item_counts_once_however_many_paths_lead_to_it() {
        let files = [
            ("lib.rs", "pub mod room;\nmod hall;\npub use room::{A, C as D};\npub use hall::E;"),
            ("room/mod.rs", "mod a;\nmod c;\npub use a::A;\npub use c::{B, C};"),
            ("room/a.rs", "/// Doc.\n#[derive(Debug)]\npub struct A { pub x: [u8; 4] }\nimpl A { pub fn f() {} }"),
            ("room/c.rs", "pub(crate) fn g() {}\npub const fn B() {}\npub enum C {}"),
            ("hall.rs", "pub trait E {}\npub struct Unreachable;"),
        ];
        assert_eq!(found(&files), ["hall::E", "room::a::A", "room::c::B", "room::c::C"]);
    }

    #[test]
    fn hidden_items_private_modules_and_tests_do_not_count() {
        let files = [
            ("lib.rs", "#[doc(hidden)]\npub mod seam;\npub mod open;\n#[cfg(test)]\npub mod test_it;\nmod inner;"),
            ("seam.rs", "pub struct Seam;"),
            ("inner.rs", "pub struct Inner;\npub struct Y;\n#[macro_export]\nmacro_rules! row { () => {} }"),
            (
                "open.rs",
                "#[doc(hidden)]\npub use crate::inner::Inner;\n#[doc(hidden)]\npub fn f() {}\n\
                 pub static X: [u8; 2] = [1, 2];\npub mod within { pub use super::super::inner::Y; }",
            ),
        ];
        assert_eq!(found(&files), ["inner::Y", "open::X", "row!"]);
    }
}
