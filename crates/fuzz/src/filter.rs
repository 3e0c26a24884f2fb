//! Fuzz target: units of filters.

use crate::input::take_u64;
use ogive::table::filter::{FilterBuilder, FilterLayout, hash_key, may_contain};

/// Asks any bytes as a page, and computes with any layout. Input: hash u64, layout u64, block u64, the page.
///
/// # Panics
/// When what is no page rules a key out, or a layout leads out of its filter: the broken promises.
pub fn page(mut data: &[u8]) {
    let (hash, parts) = (take_u64(&mut data), take_u64(&mut data));
    // No file has more than 2^44 blocks.
    let block = take_u64(&mut data) >> 20;
    for hash in [hash, 0, u64::MAX] {
        let possible = may_contain(data, hash);
        assert!(possible || data.len() == ogive::table::filter::FILTER_PAGE_BYTES);
    }
    if let Some(layout) = FilterLayout::new((parts >> 32) as u32, parts as u32) {
        assert!(layout.page_of(block, hash) < layout.page_count(block + 1));
        assert!(layout.filter_bytes(block + 1) >= layout.page_count(block + 1));
        let _ = layout.groups_of_blocks(block / 2..=block);
    }
}

/// The page of a filter of some keys.
pub fn page_seeds() -> Vec<Vec<u8>> {
    let seed = |bits_per_key: u32| {
        let mut builder = FilterBuilder::new(bits_per_key).ok()?;
        (0..2000_u64).for_each(|key| builder.add(hash_key(&key.to_be_bytes())));
        let mut pages = Vec::new();
        let mut sink = |page: &mut [u8]| {
            pages.extend_from_slice(page);
            Ok(())
        };
        builder.end_block(&mut sink).ok()?;
        let layout = builder.finish(&mut sink).ok()??;
        let parts = u64::from(layout.blocks_per_group()) << 32 | u64::from(layout.pages_per_group());
        let head = [hash_key(&5_u64.to_be_bytes()), parts, 0].map(u64::to_le_bytes).concat();
        Some([&head, pages.get(..ogive::table::filter::FILTER_PAGE_BYTES)?].concat())
    };
    [1, 10, 16].into_iter().filter_map(seed).collect()
}
