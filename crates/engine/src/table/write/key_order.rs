//! The order of the keys of a batch of dense records.

use std::cmp::Ordering;

/// The key order of a batch of records.
#[derive(Debug, Default)]
pub(super) struct KeyOrder {
    /// The first record whose key is less than the previous one.
    pub(super) falls_at: Option<usize>,
    /// Number of records with the same key as the previous one.
    pub(super) repeats: u64,
}

/// The order of 8-byte keys that follow `last`.
pub(super) fn order_of_numbers(last: &[u8], records: &[u8], width: usize) -> KeyOrder {
    let number = |key: &[u8]| key.first_chunk::<8>().map_or(0, |key| u64::from_be_bytes(*key));
    let (mut before, mut falls, mut repeats) = (number(last), false, 0);
    for record in records.chunks_exact(width) {
        let key = number(record);
        falls |= key < before;
        repeats += u64::from(key == before);
        before = key;
    }
    if falls { order_of_any(last, records, 8, width) } else { KeyOrder { falls_at: None, repeats } }
}

pub(super) fn order_of_any(last: &[u8], records: &[u8], key: usize, width: usize) -> KeyOrder {
    let (mut before, mut order) = (last, KeyOrder::default());
    for (i, record) in records.chunks_exact(width).enumerate() {
        let key = &record[..key];
        match key.cmp(before) {
            Ordering::Less => {
                order.falls_at = Some(i);
                return order;
            }
            Ordering::Equal => order.repeats += 1,
            Ordering::Greater => {}
        }
        before = key;
    }
    order
}
