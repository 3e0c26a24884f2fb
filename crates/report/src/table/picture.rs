//! The content of the report of a table, as data: also the answer of `ogive report --json`.

use super::asked::AskedKey;
use super::held::{HeldLayer, HeldPlaces};
use super::parts::CurvePart;
use ogive::TableReport;
use ogive::io::Profile;
use ogive::table::TableStructure;
use serde::Serialize;
use std::fmt::Write;

/// Options of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureOptions {
    /// Keys to look up; of an index that does not fit the page, the parts around them are held.
    pub keys: Vec<Vec<u8>>,
    /// Number of data blocks to read for the curve if the index has no exact separators of all blocks.
    pub sampled_blocks: u64,
    /// Limit for the nodes in the page, in bytes.
    pub layers_bytes_max: usize,
}

impl Default for PictureOptions {
    /// No keys, 64 blocks, and as many nodes as a page may hold.
    fn default() -> Self {
        Self { keys: Vec::new(), sampled_blocks: 64, layers_bytes_max: 1_400_000 }
    }
}

/// What the report of a table shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TablePicture {
    /// Name of the file.
    pub name: String,
    /// Whether keys have 8 bytes, so that nodes take each as one number.
    pub is_numeric: bool,
    /// For other keys: the prefix that all share, in hexadecimal digits; the axis shows the bytes after it.
    pub prefix: String,
    /// Sizes, layers and costs.
    pub report: TableReport,
    /// Places of the parts.
    pub structure: TableStructure,
    /// The named storage profiles.
    pub profiles: Vec<NamedProfile>,
    /// The curve.
    pub curve: KeyCurve,
    /// Equal parts of the curve, and how hard they are.
    pub parts: Vec<CurvePart>,
    /// The nodes, layer by layer, bottom first.
    pub layers: Vec<HeldLayer>,
    /// Places of blocks that do not all have one size.
    pub places: Vec<HeldPlaces>,
    /// Keys that were looked up.
    pub keys: Vec<AskedKey>,
}

/// A storage profile, T(n) = latency + n * time per byte.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedProfile {
    /// Name.
    pub name: String,
    /// T(0) in microseconds.
    pub latency_us: f64,
    /// Time per byte in microseconds.
    pub byte_us: f64,
}

/// Points of the key curve: keys on the axis, and the block that begins there.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KeyCurve {
    /// Keys, in hexadecimal digits: 8-byte keys, or up to 24 bytes after the prefix that all share.
    pub keys: Vec<String>,
    /// Blocks.
    pub blocks: Vec<u64>,
    /// Records before each block.
    pub records: Vec<u64>,
    /// Whether the points are separators of the index; otherwise the lines' starts and keys of sampled blocks.
    pub is_exact: bool,
    /// Number of data blocks that were read for the curve.
    pub sampled_blocks: u64,
    /// Deviation of sampled blocks from the middle of the window of their line, in blocks, with their block number.
    pub deviations: Vec<(u64, f64)>,
}

impl NamedProfile {
    /// The profiles that a report compares.
    pub(super) fn all() -> Vec<Self> {
        let of = |profile: Profile| {
            let (none, many) = (profile.time_us(0), profile.time_us(1 << 30));
            Self { name: profile.name().to_owned(), latency_us: none, byte_us: (many - none) / f64::from(1 << 30) }
        };
        Profile::names().filter_map(|name| Profile::named(name).ok()).map(of).collect()
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn bytes_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
