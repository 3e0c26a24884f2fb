//! Batched lookups: the leaves of many keys, with one round of reads per layer.

use super::node::{MixedNode, NodeContent};
use super::options::AulidOptions;
use super::reader::{DEPTH_MAX, FoundSlot, Metanode, NodeReader, inner};
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use ogive::{Error, Result};
use std::collections::BTreeMap;

/// Most keys looked up together: each holds at most two pages in memory.
const BATCH_KEYS_MAX: usize = 256;

/// A page reader with prefetched pages.
#[derive(Debug)]
struct PrefetchedPages<'a> {
    pages: &'a dyn Pages,
    read: BTreeMap<PageNumber, Page>,
}

impl PrefetchedPages<'_> {
    /// Prefetches pages, each once, in place of earlier ones.
    fn fetch(&mut self, wanted: impl Iterator<Item = PageNumber>, depth: usize) -> Result<()> {
        let mut wanted: Vec<PageNumber> = wanted.collect();
        wanted.sort_unstable();
        wanted.dedup();
        let pages = self.pages.read_many(&wanted, inner(depth))?;
        self.read = wanted.into_iter().zip(pages).collect();
        Ok(())
    }
}

impl Pages for PrefetchedPages<'_> {
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

/// The leaf of each key, as [`NodeReader::leaf`] finds it.
pub(super) fn leaves<W: Word>(
    pages: &dyn Pages,
    options: &AulidOptions,
    meta: &Metanode<W>,
    keys: &[W],
) -> Result<Vec<Option<PageNumber>>> {
    let mut leaves = Vec::with_capacity(keys.len());
    let mut ahead = PrefetchedPages { pages, read: BTreeMap::new() };
    for keys in keys.chunks(BATCH_KEYS_MAX) {
        match meta.root {
            Some(root) => leaves.extend(batch(&mut ahead, options, root, keys)?),
            None => leaves.extend(keys.iter().map(|_| None)),
        }
    }
    Ok(leaves)
}

fn batch<W: Word>(
    ahead: &mut PrefetchedPages<'_>,
    options: &AulidOptions,
    root: MixedNode<W>,
    keys: &[W],
) -> Result<Vec<Option<PageNumber>>> {
    let mut leaves = vec![None; keys.len()];
    let mut pending: Vec<(usize, MixedNode<W>)> = (0..keys.len()).map(|i| (i, root)).collect();
    for depth in 0..DEPTH_MAX {
        let shape = NodeReader::of::<W>(ahead.pages, options).shape;
        let page_of =
            |&(i, node): &(usize, MixedNode<W>)| node.first_page + node.locate(shape, node.slot_of(keys[i])).0;
        ahead.fetch(pending.iter().map(page_of), depth)?;
        let (mut next, mut ended) = (Vec::new(), Vec::new());
        for (i, node) in pending {
            let reader = NodeReader::of::<W>(&*ahead, options);
            match reader.successor(&node, depth, node.slot_of(keys[i]), keys[i])? {
                Some(found) => match NodeReader::mixed(&found) {
                    Some((child, _)) => next.push((i, child)),
                    None => ended.push((i, found)),
                },
                None if depth == 0 => {}
                None => return Err(ahead.damaged(node.first_page, "a mixed node lacks a separator of its parent")),
            }
        }
        let below = ended.iter().filter_map(|(i, found)| page_below(found, keys[*i]));
        ahead.fetch(below, depth + 1)?;
        for (i, found) in ended {
            leaves[i] = Some(NodeReader::of::<W>(&*ahead, options).path_end(found, depth, keys[i])?.item.1);
        }
        if next.is_empty() {
            return Ok(leaves);
        }
        pending = next;
    }
    Err(ahead.damaged(root.first_page, "mixed nodes form a cycle"))
}

/// The page of the array or the child to search for a key.
fn page_below<W: Word>(found: &FoundSlot<W>, key: W) -> Option<PageNumber> {
    match &found.slot.content {
        NodeContent::Array(array) => Some(array.page),
        NodeContent::Children(children) => Some(children.pages[children.child_of(key)]),
        _ => None,
    }
}
