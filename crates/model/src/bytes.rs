//! Fixed-size node records: field access, and a search by the key that begins each record.

/// The 40-bit child number that marks one that did not fit.
pub(crate) const NO_CHILD: u64 = (1 << 40) - 1;

/// Appends a child number as 5 little-endian bytes.
pub(crate) fn put_child(bytes: &mut Vec<u8>, child: u64) {
    bytes.extend_from_slice(&child.min(NO_CHILD).to_le_bytes()[..5]);
}

/// The 5-byte child number at `at`; `None` past the end of the record.
pub(crate) fn read_child(record: &[u8], at: usize) -> Option<u64> {
    let field: [u8; 5] = record.get(at..at + 5)?.try_into().ok()?;
    let [a, b, c, d, e] = field;
    Some(u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]))
}

/// The little-endian u64 at `at`; `None` past the end of the record.
pub(crate) fn read_u64(record: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(record.get(at..at + 8)?.try_into().ok()?))
}

/// The number of records whose leading u64 is at most `x`, among records of `record_bytes` sorted by it.
///
/// For unsorted records the result is some index whose record begins at or below `x`, or 0.
pub(crate) fn upper_bound(records: &[u8], record_bytes: usize, x: u64) -> usize {
    let (mut low, mut high) = (0, records.len() / record_bytes);
    while low < high {
        let middle = low + (high - low) / 2;
        if read_u64(records, middle * record_bytes).is_some_and(|start| start <= x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
