//! Nodes in the form in which a page holds them: compact, and independent of each other, so that parts can be left out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ogive::table::{FilePart, IndexNodes, IndexPageNodes};
use ogive_model::bits::BitWriter;
use ogive_model::coded::DecodedGroup;
use serde::{Serialize, Serializer};

/// Bytes of a run of nodes in JSON beside its contents, about.
const RUN_BYTES: usize = 120;

/// The nodes of a layer that a page holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeldLayer {
    /// Whether all nodes are held.
    pub is_complete: bool,
    /// Runs of nodes, ascending.
    pub runs: Vec<HeldNodes>,
}

/// A run of nodes of one index page, or of the root.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldNodes {
    /// Number of the page; 0 for the root.
    pub page: u64,
    /// Whether the run begins with the first node of the page, which keys before it belong to as well.
    pub is_first: bool,
    /// First child after the run.
    pub end_child: u64,
    /// First key after the run, as a u64, of byte strings in hexadecimal digits; empty if the run has no end.
    pub end_key: String,
    /// The nodes.
    #[serde(flatten)]
    pub nodes: NodeForm,
}

/// Nodes as JSON. u64 are little-endian in base64.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum NodeForm {
    /// Plain separators.
    Steps {
        /// Separators.
        #[serde(serialize_with = "as_base64")]
        keys: Vec<u64>,
        /// First child of each.
        children: Vec<u64>,
    },
    /// Lines.
    Lines {
        /// Starts.
        #[serde(serialize_with = "as_base64")]
        keys: Vec<u64>,
        /// First child of each.
        children: Vec<u64>,
        /// Children per unit of key.
        slopes: Vec<f32>,
        /// Children in the window.
        windows: Vec<u16>,
        /// Height of each line above its first child at its start.
        offsets: Vec<f64>,
    },
    /// Groups of coded separators.
    Coded {
        /// First child of the first group, in granules.
        child: u64,
        /// Start and parameters of each group, as in the file.
        #[serde(serialize_with = "as_base64")]
        headers: Vec<u64>,
        /// The residuals, bit-packed, lowest bit first, in base64.
        residuals: String,
    },
    /// Separators of byte strings.
    Strings {
        /// First child.
        child: u64,
        /// Number of separators.
        count: u64,
        /// Each: bytes shared with the one before and further bytes, as varints, then those bytes; in base64.
        separators: String,
    },
}

/// Places of consecutive blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldPlaces {
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub count: u64,
    /// Offset of the first.
    pub offset: u64,
    /// Each: bytes between the end of the one before and its start, and its length, as varints; in base64.
    pub places: String,
}

/// Numbers as little-endian bytes in base64.
pub(super) fn as_base64<S: Serializer>(numbers: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    serializer.serialize_str(&STANDARD.encode(bytes))
}

pub(super) fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

impl HeldNodes {
    /// The nodes of a whole page.
    pub(super) fn of_page(page: IndexPageNodes, is_last: bool) -> Self {
        // A page of byte strings does not state where the next begins.
        let has_end = !is_last && !matches!(page.nodes, IndexNodes::Strings(_));
        let end_key = if has_end { page.end_separator.to_string() } else { String::new() };
        let nodes = NodeForm::of(&page.nodes);
        Self { page: page.page, is_first: true, end_child: page.end_child, end_key, nodes }
    }

    /// Size in JSON, about.
    pub(super) fn json_bytes(&self) -> usize {
        RUN_BYTES
            + match &self.nodes {
                NodeForm::Steps { keys, .. } => keys.len() * 18,
                NodeForm::Lines { keys, .. } => keys.len() * 50,
                NodeForm::Coded { headers, residuals, .. } => headers.len() * 11 + residuals.len(),
                NodeForm::Strings { separators, .. } => separators.len(),
            }
    }
}

impl NodeForm {
    fn of(nodes: &IndexNodes) -> Self {
        match nodes {
            IndexNodes::Steps(pieces) => Self::Steps {
                keys: pieces.iter().map(|piece| piece.separator).collect(),
                children: pieces.iter().map(|piece| piece.first_child).collect(),
            },
            IndexNodes::Lines(lines) => Self::Lines {
                keys: lines.iter().map(|line| line.start).collect(),
                children: lines.iter().map(|line| line.first_child).collect(),
                slopes: lines.iter().map(|line| line.slope).collect(),
                windows: lines.iter().map(|line| line.window).collect(),
                offsets: lines.iter().map(|line| line.offset()).collect(),
            },
            IndexNodes::Coded(groups) => Self::of_groups(groups),
            IndexNodes::Strings(separators) => Self::of_strings(separators),
        }
    }

    fn of_groups(groups: &[DecodedGroup]) -> Self {
        let mut bits = BitWriter::new();
        for group in groups {
            group.residuals.iter().for_each(|&residual| bits.push(residual, group.header.width));
        }
        Self::Coded {
            child: groups.first().map_or(0, |group| group.first_child),
            headers: groups.iter().flat_map(|group| [group.header.start, group.header.pack()]).collect(),
            residuals: STANDARD.encode(bits.as_bytes()),
        }
    }

    fn of_strings(separators: &[(u64, Vec<u8>)]) -> Self {
        let mut bytes = Vec::new();
        let mut before: &[u8] = &[];
        for (_, separator) in separators {
            let shared = before.iter().zip(separator).take_while(|(one, other)| one == other).count();
            push_varint(&mut bytes, shared as u64);
            push_varint(&mut bytes, (separator.len() - shared) as u64);
            bytes.extend_from_slice(&separator[shared..]);
            before = separator;
        }
        let child = separators.first().map_or(0, |separator| separator.0);
        Self::Strings { child, count: separators.len() as u64, separators: STANDARD.encode(bytes) }
    }
}

/// The part of the root around the asked keys, if all of it is too large: runs of whole nodes within `budget` bytes.
///
/// `wanted` are the positions of nodes that are needed, ascending. Each gets as many neighbours as fit.
pub(super) fn part_of_root(root: &IndexPageNodes, wanted: &[usize], budget: usize) -> Vec<HeldNodes> {
    let count = node_count(&root.nodes);
    let whole =
        HeldNodes { page: 0, is_first: true, end_child: 0, end_key: String::new(), nodes: NodeForm::of(&root.nodes) };
    let each = (whole.json_bytes() / count.max(1)).max(1);
    let reach = budget.saturating_sub(wanted.len() * RUN_BYTES) / each / wanted.len().max(1) / 2;
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for &at in wanted {
        let range = at.saturating_sub(reach)..(at + reach + 1).min(count);
        match ranges.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => ranges.push(range),
        }
    }
    ranges.into_iter().map(|range| run_of(root, range)).collect()
}

/// Number of nodes; of strings, of separators.
pub(super) fn node_count(nodes: &IndexNodes) -> usize {
    match nodes {
        IndexNodes::Steps(pieces) => pieces.len(),
        IndexNodes::Lines(lines) => lines.len(),
        IndexNodes::Coded(groups) => groups.len(),
        IndexNodes::Strings(separators) => separators.len(),
    }
}

fn run_of(root: &IndexPageNodes, range: std::ops::Range<usize>) -> HeldNodes {
    let (nodes, next) = match &root.nodes {
        IndexNodes::Steps(pieces) => (
            IndexNodes::Steps(pieces[range.clone()].to_vec()),
            pieces.get(range.end).map(|next| (next.separator.to_string(), next.first_child)),
        ),
        IndexNodes::Lines(lines) => (
            IndexNodes::Lines(lines[range.clone()].to_vec()),
            lines.get(range.end).map(|next| (next.start.to_string(), next.first_child)),
        ),
        IndexNodes::Coded(groups) => (
            IndexNodes::Coded(groups[range.clone()].to_vec()),
            groups.get(range.end).map(|next| (next.header.start.to_string(), next.first_child)),
        ),
        IndexNodes::Strings(separators) => (
            IndexNodes::Strings(separators[range.clone()].to_vec()),
            separators.get(range.end).map(|next| (super::picture::bytes_text(&next.1), next.0)),
        ),
    };
    let (end_key, end_child) = next.unwrap_or((String::new(), root.end_child));
    HeldNodes { page: 0, is_first: range.start == 0, end_child, end_key, nodes: NodeForm::of(&nodes) }
}

impl HeldPlaces {
    /// Places of blocks from `block` on.
    pub(super) fn of(block: u64, parts: &[FilePart]) -> Self {
        let (mut bytes, mut end) = (Vec::new(), parts.first().map_or(0, |part| part.offset));
        let offset = end;
        for part in parts {
            push_varint(&mut bytes, part.offset.saturating_sub(end));
            push_varint(&mut bytes, part.bytes);
            end = part.offset + part.bytes;
        }
        Self { block, count: parts.len() as u64, offset, places: STANDARD.encode(bytes) }
    }
}
