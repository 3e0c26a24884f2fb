//! The borders between existing blocks, collected block by block for the index builder.

use super::index_check::IndexCheck;
use crate::table::block::key::key_as_u64;
use ogive_model::Fence;
use ogive_model::coded::{CodedLayer, GROUP_CHILDREN_MAX, StringCuts, StringLayer, fit_strings, shortest_separator};

/// Blocks whose borders are coded at a time: several times the longest distance over which groups are fitted.
const BLOCKS_AHEAD_MAX: usize = 1024;
/// The same limit in bytes of keys, for long keys.
const KEY_BYTES_AHEAD_MAX: usize = 4 << 20;

/// The borders between data blocks, from which the index is built.
#[derive(Debug)]
pub(in crate::table) enum WrittenSeparators {
    /// Numeric keys: the borders, and coded separators if the writer chose block ends by them.
    Numbers { first: u64, fences: Vec<Fence>, coded: CodedLayer },
    /// Byte strings: their separators.
    Strings(StringLayer),
}

/// Collects borders. Block ends are fixed here, so only the separators are chosen.
#[derive(Debug)]
pub(in crate::table) enum Borders {
    Numbers { first: u64, fences: Vec<Fence>, last: Option<u64> },
    Strings(StringBorders),
}

impl Borders {
    pub(in crate::table) fn new(numeric: bool) -> Self {
        match numeric {
            true => Self::Numbers { first: 0, fences: Vec::new(), last: None },
            false => Self::Strings(StringBorders::default()),
        }
    }

    /// Adds the next block by its first and last key.
    pub(in crate::table) fn push(&mut self, first_key: &[u8], last_key: &[u8]) {
        match self {
            Self::Numbers { first, fences, last } => {
                let high = key_as_u64(first_key);
                match *last {
                    Some(low) => fences.push(Fence { low, high }),
                    None => *first = high,
                }
                *last = Some(key_as_u64(last_key));
            }
            Self::Strings(borders) => borders.push(first_key, last_key),
        }
    }

    /// The borders, and the result of the check of their separators.
    pub(in crate::table) fn finish(self) -> (WrittenSeparators, IndexCheck) {
        match self {
            Self::Numbers { first, fences, .. } => {
                (WrittenSeparators::Numbers { first, fences, coded: CodedLayer::new() }, IndexCheck::default())
            }
            Self::Strings(mut borders) => {
                borders.drain(0);
                (WrittenSeparators::Strings(borders.layer), borders.check)
            }
        }
    }
}

/// Borders between blocks of byte strings. Two records of each block are known: the first and the last.
#[derive(Debug, Default)]
pub(in crate::table) struct StringBorders {
    layer: StringLayer,
    check: IndexCheck,
    pending: EndKeys,
    /// Separator of the first pending block.
    separator: Vec<u8>,
    /// Last key of the block before it.
    before: Vec<u8>,
}

/// First and last keys of blocks: records `2 * i` and `2 * i + 1` of block `i`.
#[derive(Debug, Default)]
struct EndKeys {
    keys: Vec<Vec<u8>>,
    bytes: usize,
}

impl StringCuts for EndKeys {
    fn ends(&self, begin: usize) -> Option<(usize, usize)> {
        (begin + 2 < self.keys.len()).then_some((begin + 2, begin + 2))
    }

    fn key(&self, record: usize) -> &[u8] {
        &self.keys[record]
    }

    fn ahead(&self, begin: usize, children: usize) -> Option<usize> {
        Some(begin + 2 * children).filter(|&record| record < self.keys.len())
    }
}

impl StringBorders {
    fn push(&mut self, first_key: &[u8], last_key: &[u8]) {
        if self.pending.keys.is_empty() && self.layer.groups() > 0 {
            self.separator = shortest_separator(&self.before, first_key);
            self.check.next_string(&self.separator, &self.before, first_key);
        }
        self.pending.keys.extend([first_key.to_vec(), last_key.to_vec()]);
        self.pending.bytes += first_key.len() + last_key.len();
        if self.pending.keys.len() > 2 * BLOCKS_AHEAD_MAX || self.pending.bytes > KEY_BYTES_AHEAD_MAX {
            self.drain(self.pending.keys.len() / 4);
        }
    }

    /// Codes pending blocks until at most `keep` are left.
    fn drain(&mut self, keep: usize) {
        let pending = &self.pending;
        let mut begin = 0;
        while begin < pending.keys.len() && (keep == 0 || pending.keys.len() - begin > 2 * keep) {
            let group = fit_strings(std::mem::take(&mut self.separator), begin, pending, GROUP_CHILDREN_MAX);
            let begins = group.begins.clone();
            self.layer.push(group);
            self.check.strings(&self.layer, &begins, pending);
            begin = begins.last().copied().unwrap_or(begin) + 2;
            if let [low, high] = &pending.keys[begin - 1..pending.keys.len().min(begin + 1)] {
                self.separator = shortest_separator(low, high);
                self.check.next_string(&self.separator, low, high);
            }
        }
        if let Some(last) = pending.keys[..begin].last() {
            self.before.clone_from(last);
        }
        self.pending.bytes -= pending.keys[..begin].iter().map(Vec::len).sum::<usize>();
        self.pending.keys.drain(..begin);
    }
}
