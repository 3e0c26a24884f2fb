//! The key types of a router: u64, and byte strings compared bytewise.

use super::RouterError;
use crate::Fence;
use crate::coded::{self, Effort, GROUP_BYTES, StringLayer};

/// A type of keys that a router is over: `u64`, or `[u8]` compared bytewise.
pub trait RouterKey: private::RouterKey {}

impl RouterKey for u64 {}
impl RouterKey for [u8] {}

/// Two blocks that were pushed with u64 keys, and what lies between them.
#[derive(Debug, Default)]
pub struct IntegerBorders {
    first: Option<u64>,
    fences: Vec<Fence>,
}

/// The separators of blocks that were pushed with byte strings.
#[derive(Debug, Default)]
pub struct StringBorders {
    separators: Vec<Vec<u8>>,
    /// The first key of the last block.
    first: Vec<u8>,
    /// What the stored form takes at most.
    bytes: usize,
}

/// What the stored form of a separator takes at most, beside its bytes.
const SEPARATOR_OVERHEAD_BYTES: usize = 24;
/// The stored form addresses groups by 32 bits.
const STRINGS_BYTES_MAX: usize = u32::MAX as usize;

pub(super) mod private {
    use super::RouterError;

    /// Keeps the trait from being implemented for other types.
    pub trait RouterKey {
        /// The code of the type in the header.
        const CODE: u8;
        /// The borders between the blocks that were pushed.
        type Borders: Default + std::fmt::Debug;

        /// Appends block number `block`, unless it is out of order or too much.
        fn push(borders: &mut Self::Borders, block: u64, last: Option<&Self>, first: &Self) -> Result<(), RouterError>;
        /// Appends the stored form, and returns its number of groups.
        fn encode(borders: Self::Borders, out: &mut Vec<u8>) -> usize;
        /// None unless the stored groups lead to `blocks` blocks by ascending separators.
        fn check(payload: &[u8], groups: usize, blocks: u64) -> Option<()>;
        /// The block of a key.
        fn search(payload: &[u8], groups: usize, key: &Self) -> Option<u64>;
    }
}

impl private::RouterKey for u64 {
    const CODE: u8 = 1;
    type Borders = IntegerBorders;

    fn push(borders: &mut IntegerBorders, block: u64, last: Option<&u64>, &first: &u64) -> Result<(), RouterError> {
        let before = borders.fences.last().map(|fence| fence.high).or(borders.first);
        // If the last key of the block before is not known, all that is known is that it is below this first key.
        let low = last.copied().unwrap_or(first.saturating_sub(1).max(before.unwrap_or(0)));
        if low > first || before.is_some_and(|before| low < before) {
            return Err(RouterError::OutOfOrder { block });
        }
        match before {
            Some(_) => borders.fences.push(Fence { low, high: first }),
            None => borders.first = Some(first),
        }
        Ok(())
    }

    fn encode(borders: IntegerBorders, out: &mut Vec<u8>) -> usize {
        let Some(first) = borders.first else { return 0 };
        let layer = coded::encode_row(first, &borders.fences, 1, Effort::Full);
        layer.encode(0..layer.groups(), out);
        layer.groups()
    }

    fn check(payload: &[u8], groups: usize, blocks: u64) -> Option<()> {
        if groups == 0 {
            return (blocks == 0 && payload.is_empty()).then_some(());
        }
        if groups > payload.len() / GROUP_BYTES || coded::stored_len(payload, groups)?.0 != payload.len() {
            return None;
        }
        let (mut children, mut last, mut is_sound) = (0, 0, true);
        coded::visit_children(payload, groups, |child, separator| {
            is_sound &= child == children && last <= separator;
            (children, last) = (children + 1, separator);
        })?;
        // Blocks behind a border that no key can cross hold nothing but repeats of u64::MAX, and are left out.
        (is_sound && 0 < children && children <= blocks).then_some(())
    }

    fn search(payload: &[u8], groups: usize, &key: &u64) -> Option<u64> {
        coded::search(payload, groups, key)
    }
}

impl private::RouterKey for [u8] {
    const CODE: u8 = 2;
    type Borders = StringBorders;

    fn push(borders: &mut StringBorders, block: u64, last: Option<&[u8]>, first: &[u8]) -> Result<(), RouterError> {
        let low = last.unwrap_or(&borders.first);
        if low > first || !borders.separators.is_empty() && low < borders.first.as_slice() {
            return Err(RouterError::OutOfOrder { block });
        }
        let separator = match last {
            // Keys below the first one of all are located in block 0 as well.
            _ if borders.separators.is_empty() => Vec::new(),
            None if borders.first != first => first.to_vec(),
            _ => coded::shortest_separator(low, first),
        };
        let bytes = borders.bytes.saturating_add(separator.len() + SEPARATOR_OVERHEAD_BYTES);
        if bytes > STRINGS_BYTES_MAX {
            return Err(RouterError::TooLarge);
        }
        borders.bytes = bytes;
        borders.separators.push(separator);
        first.clone_into(&mut borders.first);
        Ok(())
    }

    fn encode(borders: StringBorders, out: &mut Vec<u8>) -> usize {
        let layer = StringLayer::from_separators(&borders.separators);
        layer.encode(0..layer.groups(), out);
        layer.groups()
    }

    fn check(payload: &[u8], groups: usize, blocks: u64) -> Option<()> {
        if groups == 0 {
            return (blocks == 0 && payload.is_empty()).then_some(());
        }
        (coded::check_front_coded(payload, groups)? == blocks).then_some(())
    }

    fn search(payload: &[u8], groups: usize, key: &[u8]) -> Option<u64> {
        coded::search_strings(payload, groups, key)
    }
}
