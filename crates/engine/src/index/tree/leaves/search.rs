//! Lookups in the tree: single, batched, and explained.

use super::chain::ChainState;
use super::leaf::Leaf;
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::Router;
use crate::index::tree::structure::{BatchAnswers, IndexVisit};
use crate::io::Purpose;
use crate::page::{PageNumber, Pages};

/// Most keys looked up together: enough to fill a storage queue, while their leaves take half a MiB.
const BATCH_KEYS_MAX: usize = 128;

pub(super) fn get<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    state: &[u8],
    key: W,
    payload: &mut [u8],
) -> Result<bool> {
    let (chain, router) = ChainState::parse(pages, state)?;
    let leaf = tree.read::<W>(pages, tree.route(pages, &chain, router, key)?)?;
    Ok(get_in(&leaf, key, payload))
}

/// Copies the payload of a key of a leaf; false if the key is absent.
#[inline]
fn get_in<W: Word>(leaf: &Leaf, key: W, payload: &mut [u8]) -> bool {
    let index = leaf.position(key);
    if let Some(index) = index {
        leaf.copy_payload::<W>(index, payload);
    }
    index.is_some()
}

/// Looks up ascending keys in batches: the nodes of each level of the router, and then the leaves, are read
/// concurrently.
pub(super) fn get_many<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    state: &[u8],
    keys: &[W],
    mut answers: BatchAnswers<'_>,
) -> Result<()> {
    let (chain, router) = ChainState::parse(pages, state)?;
    let shape = tree.shape::<W>(pages);
    for (batch, keys) in keys.chunks(BATCH_KEYS_MAX).enumerate() {
        let routed = if chain.is_single() { 0 } else { keys.partition_point(|&key| key <= chain.low) };
        let mut heads = tree.router.find_many(pages, router, &keys[..routed])?;
        heads.resize(keys.len(), None);
        let heads: Vec<PageNumber> = heads.into_iter().map(|head| head.unwrap_or(chain.last)).collect();
        let mut wanted = heads.clone();
        wanted.dedup();
        let mut leaves = wanted.iter().zip(pages.read_many(&wanted, Purpose::Leaf)?);
        let mut current: Option<Leaf> = None;
        for (rank, (&key, &head)) in keys.iter().zip(&heads).enumerate() {
            let leaf = match current.take().filter(|leaf| leaf.number == head) {
                Some(leaf) => leaf,
                None => match leaves.next().filter(|(number, _)| **number == head) {
                    Some((_, page)) => Leaf::parse(pages, head, page, shape)?,
                    None => tree.read::<W>(pages, head)?,
                },
            };
            answers.set(batch * BATCH_KEYS_MAX + rank, |payload| Ok(get_in(&leaf, key, payload)))?;
            current = Some(leaf);
        }
    }
    Ok(())
}

/// The path of a lookup.
pub(super) fn explain<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    state: &[u8],
    key: W,
) -> Result<Vec<IndexVisit>> {
    let (chain, router) = ChainState::parse(pages, state)?;
    let direct = chain.is_single() || key > chain.low;
    let mut visits = if direct { Vec::new() } else { tree.router.explain(pages, router, key)? };
    let leaf = tree.read::<W>(pages, tree.route(pages, &chain, router, key)?)?;
    let position = match leaf.position(key) {
        Some(index) => format!("entry {index} of {}", leaf.count()),
        None => format!("absent: it would be entry {} of {}", leaf.lower_bound(key), leaf.count()),
    };
    let detail = match (direct, chain.is_single()) {
        (true, true) => format!("the only leaf; {position}"),
        (true, false) => format!("the last leaf, which holds all keys above {}; {position}", chain.low),
        (false, _) => position,
    };
    let depth = visits.len().min(usize::from(u8::MAX)) as u8;
    visits.push(IndexVisit { node: "leaf", page: leaf.number, depth, entries: leaf.count() as u64, detail });
    Ok(visits)
}
