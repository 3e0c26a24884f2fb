//! Look-ups.

use super::frame::Frame;
use super::leaf::Leaf;
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::router::Router;
use crate::index::structure::Visit;
use crate::index::word::Word;
use crate::io::Purpose;
use crate::page::{PageNumber, Pages};

/// Keys that are looked up together: enough for any storage's queue, and their leaves take half a MiB.
const BATCH_KEYS: usize = 128;

pub(super) fn get<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    state: &[u8],
    key: W,
    payload: &mut [u8],
) -> Result<bool> {
    let (frame, router) = Frame::parse(pages, state)?;
    let leaf = tree.read::<W>(pages, tree.route(pages, &frame, router, key)?)?;
    let index = leaf.position(key);
    if let Some(index) = index {
        leaf.copy_payload::<W>(index, payload);
    }
    Ok(index.is_some())
}

/// Look-ups of ascending keys, a batch at a time: each level of the inner structure, and then the leaves, in reads side
/// by side.
pub(super) fn get_many<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    state: &[u8],
    keys: &[W],
    payloads: &mut [u8],
    found: &mut [bool],
) -> Result<()> {
    let (frame, router) = Frame::parse(pages, state)?;
    let width = payloads.len().checked_div(keys.len()).unwrap_or(0);
    let shape = tree.shape::<W>(pages);
    for (batch, keys) in keys.chunks(BATCH_KEYS).enumerate() {
        let routed = if frame.is_single() { 0 } else { keys.partition_point(|&key| key <= frame.low) };
        let mut heads = tree.router.find_many(pages, router, &keys[..routed])?;
        heads.resize(keys.len(), None);
        let heads: Vec<PageNumber> = heads.into_iter().map(|head| head.unwrap_or(frame.last)).collect();
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
            let rank = batch * BATCH_KEYS + rank;
            let index = leaf.position(key);
            if let (Some(index), Some(payload)) = (index, payloads.get_mut(rank * width..(rank + 1) * width)) {
                leaf.copy_payload::<W>(index, payload);
            }
            if let Some(found) = found.get_mut(rank) {
                *found = index.is_some();
            }
            current = Some(leaf);
        }
    }
    Ok(())
}

/// The path of a look-up.
pub(super) fn explain<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    state: &[u8],
    key: W,
) -> Result<Vec<Visit>> {
    let (frame, router) = Frame::parse(pages, state)?;
    let direct = frame.is_single() || key > frame.low;
    let mut visits = if direct { Vec::new() } else { tree.router.explain(pages, router, key)? };
    let leaf = tree.read::<W>(pages, tree.route(pages, &frame, router, key)?)?;
    let place = match leaf.position(key) {
        Some(index) => format!("entry {index} of {}", leaf.count()),
        None => format!("absent: it would be entry {} of {}", leaf.lower_bound(key), leaf.count()),
    };
    let detail = match (direct, frame.is_single()) {
        (true, true) => format!("the only leaf; {place}"),
        (true, false) => format!("the last leaf, which holds all keys above {}; {place}", frame.low),
        (false, _) => place,
    };
    let depth = visits.len().min(usize::from(u8::MAX)) as u8;
    visits.push(Visit { node: "leaf", page: leaf.number, depth, entries: leaf.count() as u64, detail });
    Ok(visits)
}
