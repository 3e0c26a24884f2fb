//! The block buffer of a probe loop: one window of the inner relation in memory (Section 5.2 of the paper).

use super::decoded::Decoded;
use super::piece::Piece;
use super::window::Window;
use crate::error::Result;
use crate::join::merge::{Sink, has_long};
use crate::join::rows::RowsView;
use crate::join::task::{Spent, Task};
use crate::table::Table;
use std::cmp::Ordering;
use std::ops::Range;

/// A window is read in requests of at most so many bytes.
const REQUEST_BYTES: u64 = 4 << 20;

/// Neighbouring blocks.
pub(super) struct Buffer<'a> {
    table: &'a Table,
    task: &'a Task,
    piece: Piece,
    decoded: Decoded,
    /// The block of the piece that is looked at.
    block: usize,
    /// What was read: blocks without rows are not in the piece.
    held: Range<u64>,
    /// Most blocks that are held at once.
    blocks_max: u64,
    /// Keys at the edges, where they are numbers.
    edges: Option<Edges>,
}

/// Keys of eight bytes at the edges of blocks.
#[derive(Clone, Copy, Debug)]
struct Edges {
    /// Of the last row before the block that is looked at, if that is held.
    before: Option<u64>,
    /// Of the last row of that block.
    last: u64,
    /// Of the last row of all that are held.
    held_last: u64,
}

#[inline]
fn word(key: &[u8]) -> Option<u64> {
    <[u8; 8]>::try_from(key).ok().map(u64::from_be_bytes)
}

/// How two keys compare; quick for those of eight bytes.
#[inline]
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    match (<[u8; 8]>::try_from(a), <[u8; 8]>::try_from(b)) {
        (Ok(a), Ok(b)) => u64::from_be_bytes(a).cmp(&u64::from_be_bytes(b)),
        _ => a.cmp(b),
    }
}

impl<'a> Buffer<'a> {
    pub(super) fn new(table: &'a Table, task: &'a Task, memory_bytes: u64) -> Self {
        // A third each for blocks as they are read, the same unpacked, and the rows of one block laid out.
        let blocks_max = (memory_bytes / 3 / table.largest_block_bytes().max(1)).max(1);
        let (piece, decoded) = (Piece::default(), Decoded::new((memory_bytes / 3) as usize));
        Self { table, task, piece, decoded, block: 0, held: 0..0, blocks_max, edges: None }
    }

    /// Number of the block that is looked at.
    pub(super) fn number(&self) -> u64 {
        self.piece.blocks.get(self.block).map_or(self.held.end, |block| block.number)
    }

    pub(super) fn rows(&self) -> RowsView<'_> {
        self.decoded.rows(self.table, &self.piece, self.block)
    }

    fn last_key(&self) -> Option<&[u8]> {
        self.piece.blocks.len().checked_sub(1).map(|last| self.piece.last_key(last))
    }

    /// Whether the first row not below a key lies among the blocks that are held, or the window does and it is absent.
    #[inline]
    pub(super) fn holds(&self, key: &[u8], window: &Window) -> bool {
        if !window.proof {
            return self.brackets(key);
        }
        if let (Some(edges), Some(x)) = (self.edges, word(key)) {
            return self.held.contains(&window.first) && (window.last < self.held.end || x <= edges.held_last);
        }
        let ends_behind = || self.last_key().is_some_and(|last| compare(key, last).is_le());
        self.held.contains(&window.first) && (window.last < self.held.end || ends_behind())
    }

    /// Whether the first row not below a key certainly lies among the blocks that are held, or behind all rows.
    fn brackets(&self, key: &[u8]) -> bool {
        let Some(last) = self.last_key() else { return self.held == (0..self.table.blocks()) };
        let begins_before = self.held.start == 0 || self.begins_before(key);
        begins_before && (self.held.end == self.table.blocks() || compare(key, last).is_le())
    }

    /// Whether no row of a key lies before the blocks that are held.
    fn begins_before(&self, key: &[u8]) -> bool {
        match compare(self.piece.first_key(0), key) {
            Ordering::Less => true,
            Ordering::Equal => self.table.is_distinct(),
            Ordering::Greater => false,
        }
    }

    /// Reads the window of a key, or the part of it where the key lies if not all of it can be held; and where a hint was wrong, the blocks
    /// where the key lies.
    pub(super) fn load(&mut self, key: &[u8], window: &Window) -> Result<()> {
        self.read(window.first..window.last + 1)?;
        while self.held.end <= window.last && self.ends_before(key) {
            self.read(self.held.end..window.last + 1)?;
        }
        if !window.proof && !self.brackets(key) {
            self.search(key)?;
        }
        Ok(())
    }

    fn ends_before(&self, key: &[u8]) -> bool {
        self.last_key().is_none_or(|last| compare(last, key).is_lt())
    }

    fn read(&mut self, blocks: Range<u64>) -> Result<()> {
        let blocks = blocks.start..blocks.end.min(blocks.start + self.blocks_max).min(self.table.blocks());
        let Self { piece, table, task, .. } = self;
        task.spend(Spent::Reading, || piece.read(table, task, std::slice::from_ref(&blocks), REQUEST_BYTES))?;
        self.held = blocks;
        self.block = 0;
        self.lay_out()
    }

    /// Lays out the rows of the block that is looked at, where they do not lie densely.
    fn lay_out(&mut self) -> Result<()> {
        let number = |block: usize| word(self.piece.last_key(block));
        let last_block = self.piece.blocks.len().saturating_sub(1);
        let edges = number(self.block).zip(number(last_block)).filter(|_| self.block < self.piece.blocks.len());
        let before = self.block.checked_sub(1).and_then(number);
        self.edges = edges.map(|(last, held_last)| Edges { before, last, held_last });
        match self.decoded.load(self.table, &self.piece, self.block, 0)? {
            None => Ok(()),
            Some(_) => {
                let (number, path) = (self.number(), self.table.path().display());
                let what =
                    format!("the rows of block {number} of {path} take more memory than probes of this join have");
                // How much more is known only with more: twice as much is the next to try.
                Err(self.task.budget.short((2, 1), what))
            }
        }
    }

    /// Looks for a key from the blocks that are held on, either way, in growing steps, one block at a time.
    fn search(&mut self, key: &[u8]) -> Result<()> {
        let blocks = self.table.blocks();
        // The last block that begins before the key lies in `low..high`, unless none does.
        let (mut low, mut high) = (self.held.start, self.held.start + 1);
        let mut step = 1;
        if self.piece.blocks.is_empty() || self.begins_before(key) {
            high = self.held.end;
            while high < blocks {
                self.read(high..high + 1)?;
                if !self.piece.blocks.is_empty() && !self.begins_before(key) {
                    break;
                }
                low = high;
                high = (high + step).min(blocks);
                step *= 2;
            }
        } else {
            while low > 0 {
                high = low;
                low = low.saturating_sub(step);
                step *= 2;
                self.read(low..low + 1)?;
                if !self.piece.blocks.is_empty() && self.begins_before(key) {
                    break;
                }
            }
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            self.read(middle..middle + 1)?;
            if self.piece.blocks.is_empty() || self.begins_before(key) { low = middle } else { high = middle }
        }
        self.read(low..low + 1)?;
        // The first row of the key may be the first one of the next block with rows.
        while self.ends_before(key) && self.held.end < blocks {
            self.read(self.held.end..self.held.end + 1)?;
        }
        Ok(())
    }

    /// Whether the first row not below a key lies in the block that is looked at, given that it does not lie before.
    #[inline]
    pub(super) fn is_in_present_block(&self, key: &[u8]) -> bool {
        if let (Some(edges), Some(x)) = (self.edges, word(key)) {
            return x <= edges.last && edges.before.is_none_or(|before| before < x);
        }
        self.block < self.piece.blocks.len() && compare(self.piece.last_key(self.block), key).is_ge() && {
            self.block == 0 || compare(self.piece.last_key(self.block - 1), key).is_lt()
        }
    }

    /// Looks at the block of the first row not below a key; `false` where all that are held end before.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let (mut low, mut high) = (0, self.piece.blocks.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if compare(self.piece.last_key(middle), key).is_lt() { low = middle + 1 } else { high = middle }
        }
        self.block = low;
        if low == self.piece.blocks.len() {
            self.edges = None;
            return Ok(false);
        }
        self.lay_out()?;
        Ok(true)
    }

    /// Whether a run that reaches the end of the block may go on in the next one.
    pub(super) fn may_go_on(&self) -> bool {
        !self.table.is_distinct() && self.number() + 1 < self.table.blocks()
    }

    /// Goes to the next block, which is read if need be; whether it begins with the key.
    pub(super) fn next_block(&mut self, key: &[u8]) -> Result<bool> {
        if !self.may_go_on() {
            return Ok(false);
        }
        if self.block + 1 < self.piece.blocks.len() {
            self.block += 1;
            self.lay_out()?;
        } else {
            let next = self.held.end;
            let growth = self.held.end - self.held.start + 1;
            if next >= self.table.blocks() {
                return Ok(false);
            }
            self.read(next..next + growth)?;
        }
        Ok(self.block < self.piece.blocks.len() && self.piece.first_key(self.block) == key)
    }

    /// Looks at a block again; `false` where it is not held any more.
    pub(super) fn go_to(&mut self, number: u64) -> Result<bool> {
        let Ok(block) = self.piece.blocks.binary_search_by_key(&number, |block| block.number) else { return Ok(false) };
        self.block = block;
        self.lay_out()?;
        Ok(true)
    }

    pub(super) fn has_long(&self) -> bool {
        has_long(&self.rows())
    }

    /// Fetches the value of a row of the block, in place of what `value` holds.
    pub(super) fn value(&self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        if self.rows().is_long(row) {
            return self.decoded.long_value(self.table, row, value);
        }
        value.clear();
        value.extend_from_slice(self.rows().value(row));
        Ok(())
    }

    /// Gives rows of the block alone.
    pub(super) fn give_alone(&self, rows: Range<usize>, sink: &mut dyn Sink) -> Result<()> {
        if !self.has_long() {
            return sink.lefts(self.rows(), rows);
        }
        let mut value = Vec::new();
        for row in rows {
            self.value(row, &mut value)?;
            sink.row(self.rows().key(row), &value, None)?;
        }
        Ok(())
    }
}
