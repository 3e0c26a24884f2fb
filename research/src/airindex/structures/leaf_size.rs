//! The tuned size of leaves: that of the pages with which a lookup is fastest, by the model.

use super::build::directory_images;
use super::hierarchy::design;
use super::options::AirIndexOptions;
use super::router::AirIndexRouter;
use ogive::index::IndexLayout;
use ogive_model::inner::{Children as CodedChildren, roundest};

/// Sizes to choose from, in bytes: from the block of a device, below which a read hardly gets shorter, to the largest
/// pages.
const PAGE_BYTES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
/// Bytes of a page that are not payload, about.
const TRAILER_BYTES: usize = 8;

impl AirIndexOptions {
    /// The page size in bytes, from 4 KiB to 64 KiB, that minimises the modelled time of a lookup of one of `keys`,
    /// which ascend, with nothing cached: root, layers, directory and leaf, each with the gaps of `layout` (AirIndex,
    /// Equation 6). Larger pages make the directory shorter, and the read of a leaf longer.
    pub fn tuned_page_bytes(self, keys: &[u64], layout: IndexLayout) -> usize {
        let router = AirIndexRouter::new(self, layout);
        let costs = PAGE_BYTES.map(|page_bytes| (page_bytes, lookup_us(&router, keys, page_bytes)));
        let best = costs.into_iter().min_by(|(_, a), (_, b)| a.total_cmp(b));
        best.map_or(PAGE_BYTES[0], |(page_bytes, _)| page_bytes)
    }
}

/// Modelled time of a lookup in an index of `keys` with pages of this size, in microseconds.
fn lookup_us(router: &AirIndexRouter, keys: &[u64], page_bytes: usize) -> f64 {
    let payload_bytes = page_bytes - TRAILER_BYTES;
    let fill = f64::from(router.layout.fill_percent) / 100.0;
    let entries = ((router.leaf_entries::<u64>(payload_bytes) * fill) as usize).max(1);
    let last = keys.len().saturating_sub(1);
    let mut children = CodedChildren::default();
    for (leaf, end) in (0_u32..).zip((entries..=last).step_by(entries)) {
        let (low, next) = (u128::from(keys[end - 1]), u128::from(keys[end]));
        let separator = roundest(low, next.saturating_sub(1));
        if children.separators.last().is_none_or(|&before| before < separator) {
            children.separators.push(separator);
            children.pages.push(leaf);
        }
    }
    let profile = router.profile();
    let leaf_us = profile.time_us(page_bytes as u64);
    if children.separators.is_empty() {
        return leaf_us;
    }
    let directory = directory_images::<u64>(router, payload_bytes, &children);
    leaf_us + design(directory.fences(), payload_bytes as u64, &profile).cost.total_us
}
