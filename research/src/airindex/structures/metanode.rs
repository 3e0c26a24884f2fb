//! The metanode: the state of an index, which leads to all of its pages. It holds the root if that is small.

use super::hierarchy::LayerForm;
use crate::kinds::numbers::u32_at;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages};

/// Most bytes of root nodes in the metanode: 4 lines or 6 steps. They cost no read, since the metanode is read with the
/// header of the file. With keys of 16 and three layers it takes 152 bytes of the 256 that a commit can hold for all.
pub(super) const ROOT_BYTES_MAX: usize = 80;
/// Most layers in pages: a top layer that none leads to is read whole.
pub(super) const LAYERS_MAX: usize = 3;

const COUNTS: usize = 7;
const COUNT_BYTES: usize = 4;
const EXTENT_BYTES: usize = 2 * COUNT_BYTES;

/// Consecutive pages of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AirExtent {
    pub(super) first: PageNumber,
    pub(super) pages: u32,
}

impl AirExtent {
    fn load(bytes: &[u8], offset: usize) -> Self {
        Self { first: u32_at(bytes, offset), pages: u32_at(bytes, offset + COUNT_BYTES) }
    }

    fn store(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&self.pages.to_le_bytes());
    }

    fn is_within(self, pages: &dyn Pages) -> bool {
        self.pages > 0 && self.first.checked_add(self.pages).is_some_and(|end| end <= pages.page_count())
    }
}

/// The monotone map from keys to the u64 on which models work: `(key - base) >> shift`. Keys that share a value are
/// told apart by the borders of the directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PrefixMap<W> {
    pub(super) base: W,
    pub(super) shift: u8,
}

impl<W: Word> PrefixMap<W> {
    /// The finest map for keys from `base` to `greatest`.
    pub(super) fn spanning(base: W, greatest: W) -> Self {
        let span = greatest.to_u128().saturating_sub(base.to_u128());
        Self { base, shift: 64_u32.saturating_sub(span.leading_zeros()) as u8 }
    }

    pub(super) fn of(self, key: W) -> u64 {
        let distance = key.to_u128().saturating_sub(self.base.to_u128());
        let shifted = distance.checked_shr(u32::from(self.shift)).unwrap_or(0);
        u64::try_from(shifted).unwrap_or(u64::MAX)
    }
}

/// The nodes of a root in the metanode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RootNodes {
    pub(super) form: LayerForm,
    pub(super) count: usize,
    pub(super) bytes: Vec<u8>,
}

/// The state of an index.
///
/// ```text
/// separators u32, those in overflow pages u32, overflow pages u32, separators when built u32, regret f32 (us)
/// directory: first page u32, pages u32
/// base of the prefixes (a key), shift u8
/// layers in pages u8, root: form u8 (0 none, 1 steps, 2 lines), nodes u8
/// for each layer, bottom first: first page u32, pages u32
/// the nodes of the root, as in the pages of a layer
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AirMetanode<W> {
    /// Number of separators, hence of leaves but the last.
    pub(super) separators: u32,
    /// Number of separators in overflow pages.
    pub(super) overflow_separators: u32,
    /// Number of overflow pages.
    pub(super) overflow_pages: u32,
    /// Number of separators when the directory was built.
    pub(super) built_separators: u32,
    /// Time that lookups have lost to overflow pages since then, in microseconds, by the model.
    pub(super) regret_us: f32,
    pub(super) directory: AirExtent,
    pub(super) prefixes: PrefixMap<W>,
    /// Layers in pages, bottom first.
    pub(super) layers: Vec<AirExtent>,
    /// The root above them, if it is here; else the topmost layer, or the directory, is read whole.
    pub(super) root: Option<RootNodes>,
}

impl<W: Word> AirMetanode<W> {
    pub(super) fn decode(pages: &dyn Pages, state: &[u8]) -> Result<Self> {
        Self::parse(pages, state).ok_or_else(|| pages.damaged(0, "the state of the index layers is invalid"))
    }

    fn parse(pages: &dyn Pages, state: &[u8]) -> Option<Self> {
        let (counts, rest) = state.split_at_checked(COUNTS * COUNT_BYTES)?;
        let (base, rest) = rest.split_at_checked(W::BYTES)?;
        let (&[shift, layer_count, form, nodes], rest) = rest.split_first_chunk()?;
        let (extents, root) = rest.split_at_checked(usize::from(layer_count) * EXTENT_BYTES)?;
        let form = if form == 0 { None } else { Some(LayerForm::of_code(form)?) };
        let count = usize::from(nodes);
        if root.len() != form.map_or(0, |form| form.node_bytes() * count) || root.len() > ROOT_BYTES_MAX {
            return None;
        }
        let metanode = Self {
            separators: u32_at(counts, 0),
            overflow_separators: u32_at(counts, 4),
            overflow_pages: u32_at(counts, 8),
            built_separators: u32_at(counts, 12),
            regret_us: f32::from_bits(u32_at(counts, 16)),
            directory: AirExtent::load(counts, 20),
            prefixes: PrefixMap { base: W::load(base), shift },
            layers: (0..usize::from(layer_count)).map(|i| AirExtent::load(extents, i * EXTENT_BYTES)).collect(),
            root: form.map(|form| RootNodes { form, count, bytes: root.to_vec() }),
        };
        let are_within = || metanode.layers.iter().chain([&metanode.directory]).all(|extent| extent.is_within(pages));
        let valid = metanode.layers.len() <= LAYERS_MAX && (metanode.separators == 0 || are_within());
        valid.then_some(metanode)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let counts = [self.separators, self.overflow_separators, self.overflow_pages, self.built_separators];
        counts.iter().for_each(|count| bytes.extend_from_slice(&count.to_le_bytes()));
        bytes.extend_from_slice(&self.regret_us.to_bits().to_le_bytes());
        self.directory.store(&mut bytes);
        let mut base = [0; 16];
        self.prefixes.base.store(&mut base);
        bytes.extend_from_slice(base.get(..W::BYTES).unwrap_or(&[]));
        let (form, count) = self.root.as_ref().map_or((0, 0), |root| (root.form.code(), root.count as u8));
        bytes.extend_from_slice(&[self.prefixes.shift, self.layers.len() as u8, form, count]);
        self.layers.iter().for_each(|layer| layer.store(&mut bytes));
        bytes.extend(self.root.iter().flat_map(|root| &root.bytes));
        bytes
    }

    /// The depth of the directory below the metanode.
    pub(super) fn directory_depth(&self) -> u8 {
        self.layers.len() as u8
    }
}
