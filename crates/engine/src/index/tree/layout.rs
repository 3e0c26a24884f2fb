//! The layout of an index, as every structure knows it.

/// The layout of an index, passed to every structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLayout {
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// Fill of leaves after a bulk load, in percent.
    pub fill_percent: u8,
    /// Whether a key may have several entries.
    pub duplicates: bool,
}

impl Default for IndexLayout {
    /// The fill of the AULID paper's B+-tree.
    fn default() -> Self {
        Self { payload_bytes: 8, fill_percent: 80, duplicates: false }
    }
}
