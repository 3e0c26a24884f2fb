//! Fuzz inputs: numbers and bytes taken off the front of an input.

/// Takes a number off the front of the input; missing bytes are zero.
pub(crate) fn take_u64(data: &mut &[u8]) -> u64 {
    let (head, rest) = data.split_at(data.len().min(8));
    *data = rest;
    let mut bytes = [0; 8];
    bytes[..head.len()].copy_from_slice(head);
    u64::from_le_bytes(bytes)
}

/// Takes one byte off the front of the input; zero when there is none.
pub(crate) fn take_u8(data: &mut &[u8]) -> u8 {
    let Some((&first, rest)) = data.split_first() else { return 0 };
    *data = rest;
    first
}
