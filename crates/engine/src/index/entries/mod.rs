//! Keys, payloads and words of indexes, and their packed arrays.

pub(super) mod key;
pub(super) mod packed;
pub(super) mod payload;
pub(super) mod values;
pub(super) mod word;
