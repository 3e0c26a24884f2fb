//! Batched look-ups: the leaves of many keys, with one round of reads for each layer.

use super::node::{Content, Node};
use super::options::AulidOptions;
use super::view::{DEEPEST, Found, Metanode, View, inner};
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use ogive::{Error, Result};
use std::collections::BTreeMap;

/// Keys that are looked up together: they hold two pages each in memory at most.
const BATCH: usize = 256;

/// Pages of which some have been read already.
#[derive(Debug)]
struct ReadAhead<'a> {
    pages: &'a dyn Pages,
    read: BTreeMap<PageNumber, Page>,
}

impl ReadAhead<'_> {
    /// Reads pages, each once, in place of those read before.
    fn fetch(&mut self, wanted: impl Iterator<Item = PageNumber>, depth: usize) -> Result<()> {
        let mut wanted: Vec<PageNumber> = wanted.collect();
        wanted.sort_unstable();
        wanted.dedup();
        let pages = self.pages.read_many(&wanted, inner(depth))?;
        self.read = wanted.into_iter().zip(pages).collect();
        Ok(())
    }
}

impl Pages for ReadAhead<'_> {
    fn payload_bytes(&self) -> usize {
        self.pages.payload_bytes()
    }

    fn read(&self, page: PageNumber, purpose: Purpose) -> Result<Page> {
        self.read.get(&page).cloned().map_or_else(|| self.pages.read(page, purpose), Ok)
    }

    fn page_count(&self) -> u32 {
        self.pages.page_count()
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        self.pages.damaged(page, detail)
    }
}

/// The leaf of each key, as [`View::leaf`] finds it.
pub(super) fn leaves<W: Word>(
    pages: &dyn Pages,
    options: &AulidOptions,
    meta: &Metanode<W>,
    keys: &[W],
) -> Result<Vec<Option<PageNumber>>> {
    let mut leaves = Vec::with_capacity(keys.len());
    let mut ahead = ReadAhead { pages, read: BTreeMap::new() };
    for keys in keys.chunks(BATCH) {
        match meta.root {
            Some(root) => leaves.extend(batch(&mut ahead, options, root, keys)?),
            None => leaves.extend(keys.iter().map(|_| None)),
        }
    }
    Ok(leaves)
}

fn batch<W: Word>(
    ahead: &mut ReadAhead<'_>,
    options: &AulidOptions,
    root: Node<W>,
    keys: &[W],
) -> Result<Vec<Option<PageNumber>>> {
    let mut leaves = vec![None; keys.len()];
    let mut on_the_way: Vec<(usize, Node<W>)> = (0..keys.len()).map(|i| (i, root)).collect();
    for depth in 0..DEEPEST {
        let shape = View::of::<W>(ahead.pages, options).shape;
        let page_of = |&(i, node): &(usize, Node<W>)| node.first_page + node.locate(shape, node.slot_of(keys[i])).0;
        ahead.fetch(on_the_way.iter().map(page_of), depth)?;
        let (mut further, mut landing) = (Vec::new(), Vec::new());
        for (i, node) in on_the_way {
            let view = View::of::<W>(&*ahead, options);
            match view.successor(&node, depth, node.slot_of(keys[i]), keys[i])? {
                Some(found) => match View::mixed(&found) {
                    Some((child, _)) => further.push((i, child)),
                    None => landing.push((i, found)),
                },
                None if depth == 0 => {}
                None => return Err(ahead.damaged(node.first_page, "a mixed node without the separator promised")),
            }
        }
        let below = landing.iter().filter_map(|(i, found)| page_below(found, keys[*i]));
        ahead.fetch(below, depth + 1)?;
        for (i, found) in landing {
            leaves[i] = Some(View::of::<W>(&*ahead, options).land(found, depth, keys[i])?.item.1);
        }
        if further.is_empty() {
            return Ok(leaves);
        }
        on_the_way = further;
    }
    Err(ahead.damaged(root.first_page, "mixed nodes without end"))
}

/// The page of the array or the child in which a key is to be looked for.
fn page_below<W: Word>(found: &Found<W>, key: W) -> Option<PageNumber> {
    match &found.slot.content {
        Content::Array(array) => Some(array.page),
        Content::Children(children) => Some(children.pages[children.child_of(key)]),
        _ => None,
    }
}
