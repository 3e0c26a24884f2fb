//! Bulk load and rebuild: packs the directory, with gaps, and tunes the layers above it.

use super::directory::{DirectoryHeader, key_width, node_room};
use super::hierarchy::{design, stored_nodes, stored_pages};
use super::metanode::{AirExtent, AirMetanode, LAYERS_MAX, PrefixMap, ROOT_BYTES_MAX, RootNodes};
use super::router::AirIndexRouter;
use ogive::index::extend::{Gap, RouterBuilder, Word};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};
use ogive::tune::Design;
use ogive::{Error, Result};
use ogive_model::Fence;
use ogive_model::inner::{
    Children as CodedChildren, GROUP_CHILDREN_MAX, HEADER_BYTES, KeyWidth, NodeWriter, cut_groups, encode,
    plain_capacity, roundest,
};

/// Children are coded in parts of at least this many; fewer do not fill a page better.
const PART_CHILDREN_MIN: usize = 8;
/// Least number of separators of a built page that has others after it: a greater gap would be of no use.
const PAGE_SEPARATORS_MIN: usize = 2;
const PAGE_NUMBER_BYTES: usize = 4;
/// Most fill of a page of the directory, in percent, also if leaves have no gaps: without one in the directory, each
/// split of a leaf would overflow a page. The gap takes about 1/5,000 of the file.
const FILL_PERCENT_MAX: usize = 90;

/// Builder that collects separators and leaves, because the tuner needs all of them: 20 bytes for each leaf.
#[derive(Debug)]
pub(super) struct AirBuilder<W> {
    pub(super) router: AirIndexRouter,
    /// The engine's own builder, which only chooses the ends of leaves: those with round separators.
    pub(super) ends: Box<dyn RouterBuilder<W>>,
    pub(super) children: CodedChildren,
}

impl<W: Word> RouterBuilder<W> for AirBuilder<W> {
    fn choose_end(&mut self, keys: &[W], least: usize, near: usize, most: usize) -> usize {
        self.ends.choose_end(keys, least, near, most)
    }

    fn push(&mut self, _tx: &mut Transaction, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        self.children.separators.push(roundest(gap.low.to_u128(), gap.high.to_u128()));
        self.children.pages.push(leaf);
        Ok(())
    }

    fn finish(self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>> {
        Ok(build::<W>(&self.router, tx, &self.children)?.encode())
    }
}

/// Writes the directory of all separators and leaves, and the layers above it, to new pages.
pub(super) fn build<W: Word>(
    router: &AirIndexRouter,
    tx: &mut Transaction,
    children: &CodedChildren,
) -> Result<AirMetanode<W>> {
    if children.separators.is_empty() {
        return Ok(AirMetanode::default());
    }
    let stored = directory_images::<W>(router, tx.payload_bytes(), children);
    let layers = store_layers(&design(stored.fences(), tx.payload_bytes() as u64, &router.profile()));
    let depth = layers.pages.len() as u8;
    let directory = write_extent(tx, depth, &stored.images)?;
    let mut extents = Vec::new();
    for (images, depth) in layers.pages.iter().zip((0..depth).rev()) {
        extents.push(write_extent(tx, depth, images)?);
    }
    let separators = u32::try_from(children.separators.len()).unwrap_or(u32::MAX);
    Ok(AirMetanode {
        separators,
        overflow_separators: 0,
        overflow_pages: 0,
        built_separators: separators,
        regret_us: 0.0,
        directory,
        prefixes: stored.prefixes,
        layers: extents,
        root: layers.root,
    })
}

/// The layers of a design in their stored form: in pages, bottom first, and a small root.
#[derive(Debug, Default)]
struct StoredLayers {
    pages: Vec<Vec<Vec<u8>>>,
    root: Option<RootNodes>,
}

/// A layer that cannot be stored ends the hierarchy: the one below is then read whole.
fn store_layers(design: &Design) -> StoredLayers {
    let mut stored = StoredLayers::default();
    for (index, layer) in design.layers.iter().enumerate() {
        let count = layer.node_count() as usize;
        if index + 1 == design.layers.len() {
            let nodes = stored_nodes(layer, 0..count).filter(|(_, bytes)| bytes.len() <= ROOT_BYTES_MAX);
            stored.root = nodes.map(|(form, bytes)| RootNodes { form, count, bytes });
        }
        if stored.root.is_some() || stored.pages.len() == LAYERS_MAX {
            break;
        }
        let Some(pages) = stored_pages(layer) else { break };
        stored.pages.push(pages);
    }
    stored
}

fn write_extent(tx: &mut Transaction, depth: u8, images: &[Vec<u8>]) -> Result<AirExtent> {
    let too_many = |_| Error::input("an index layer would have more than 2^32 pages");
    let pages = u32::try_from(images.len()).map_err(too_many)?;
    let first = tx.allocate_extent(pages)?;
    for (page, image) in (first..).zip(images) {
        tx.write_fresh(page, Purpose::Inner(depth), image)?;
    }
    Ok(AirExtent { first, pages })
}

/// The pages of a directory, and the borders between them.
#[derive(Debug)]
pub(super) struct StoredDirectory<W> {
    images: Vec<Vec<u8>>,
    borders: Vec<W>,
    prefixes: PrefixMap<W>,
}

impl<W: Word> StoredDirectory<W> {
    /// The borders as fences for the tuner: keys up to a border lie left of it.
    pub(super) fn fences(&self) -> Vec<Fence> {
        let of = |key: u128| self.prefixes.of(W::from_u128(key));
        let fence = |border: u128| Fence { low: of(border), high: of(border.saturating_add(1)) };
        self.borders.iter().map(|border| fence(border.to_u128())).collect()
    }
}

/// The pages of the directory of these children, each as full as the fill of the layout asks for, but with a gap.
pub(super) fn directory_images<W: Word>(
    router: &AirIndexRouter,
    payload_bytes: usize,
    children: &CodedChildren,
) -> StoredDirectory<W> {
    let width = key_width::<W>();
    let room = node_room::<W>(payload_bytes);
    let least = plain_bytes(width, PAGE_SEPARATORS_MIN).min(room);
    let fill_percent = usize::from(router.layout.fill_percent).min(FILL_PERCENT_MAX);
    let filled = (room * fill_percent / 100).clamp(least, room);
    let key = |separator: Option<&u128>| separator.map_or(W::MIN, |&separator| W::from_u128(separator));
    let prefixes = PrefixMap::spanning(key(children.separators.first()), key(children.separators.last()));
    let mut stored = StoredDirectory { images: Vec::new(), borders: Vec::new(), prefixes };
    let (mut separators, mut leaves) = (&children.separators[..], &children.pages[..]);
    let mut low = W::MIN;
    while !separators.is_empty() {
        let (count, node) = pack(separators, leaves, width, filled);
        let (taken, rest) = separators.split_at(count);
        let high = if rest.is_empty() { W::MAX } else { key(taken.last()) };
        stored.images.push(DirectoryHeader::new(low, high).image(&node));
        if !rest.is_empty() {
            stored.borders.push(high);
        }
        low = high;
        (separators, leaves) = (rest, &leaves[count..]);
    }
    stored
}

/// Bytes of a plain node of this many separators.
fn plain_bytes(width: KeyWidth, separators: usize) -> usize {
    HEADER_BYTES + separators * (width.bytes() + PAGE_NUMBER_BYTES)
}

/// The first separators, as many as fit a node of `room` bytes, at least one: their number, and the node.
fn pack(separators: &[u128], leaves: &[u32], width: KeyWidth, room: usize) -> (usize, Vec<u8>) {
    let mut writer = NodeWriter::new(width, room);
    let (mut taken, mut part) = (0, GROUP_CHILDREN_MAX);
    while part >= PART_CHILDREN_MIN && taken < separators.len() {
        let end = (taken + part).min(separators.len());
        let groups = cut_groups(&separators[taken..end], &leaves[taken..end], width);
        for group in groups {
            let count = group.children;
            if !writer.push(group) {
                break;
            }
            taken += count;
        }
        if taken < end {
            part /= 2;
        }
    }
    let plain = plain_capacity(width, room).clamp(1, separators.len());
    if taken >= plain {
        return (taken, writer.finish(0, None));
    }
    let children = CodedChildren {
        level: 0,
        separators: separators[..plain].to_vec(),
        pages: leaves[..plain].to_vec(),
        last: None,
    };
    (plain, encode(&children, width, room.max(plain_bytes(width, plain))).unwrap_or_default())
}
