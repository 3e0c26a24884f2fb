//! The block buffer of a probe loop: one window of the inner relation in memory (Section 5.2 of the paper).

use ogive::Result;
use ogive::join::extend::{BlockReader, BlockWindow, JoinProbeSink, RowsView};
use std::cmp::Ordering;
use std::ops::Range;

/// A buffer of consecutive blocks.
pub(super) struct ProbeBuffer<'a> {
    reader: BlockReader<'a>,
    /// The current block of the reader.
    block: usize,
    /// The blocks read; the reader leaves out those without rows.
    held: Range<u64>,
    /// The edge keys, if they are integers.
    edges: Option<EdgeKeys>,
    /// Whether the current block has out-of-line values.
    has_long: bool,
}

/// Keys of eight bytes at block edges.
#[derive(Clone, Copy, Debug)]
struct EdgeKeys {
    /// Key of the last row before the current block, if buffered.
    before: Option<u64>,
    /// Key of the last row of the current block.
    last: u64,
    /// Key of the last buffered row.
    held_last: u64,
}

#[inline]
fn word(key: &[u8]) -> Option<u64> {
    <[u8; 8]>::try_from(key).ok().map(u64::from_be_bytes)
}

/// Compares two keys, with a fast path for keys of eight bytes.
#[inline]
fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    match (<[u8; 8]>::try_from(a), <[u8; 8]>::try_from(b)) {
        (Ok(a), Ok(b)) => u64::from_be_bytes(a).cmp(&u64::from_be_bytes(b)),
        _ => a.cmp(b),
    }
}

impl<'a> ProbeBuffer<'a> {
    pub(super) fn new(reader: BlockReader<'a>) -> Self {
        Self { reader, block: 0, held: 0..0, edges: None, has_long: false }
    }

    /// Number of blocks of the relation.
    #[inline]
    pub(super) fn blocks(&self) -> u64 {
        self.reader.inner().blocks()
    }

    /// Number of the current block.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        self.reader.number(self.block).unwrap_or(self.held.end)
    }

    #[inline]
    pub(super) fn rows(&self) -> RowsView<'_> {
        self.reader.rows(self.block)
    }

    fn last_key(&self) -> Option<&[u8]> {
        self.reader.len().checked_sub(1).map(|last| self.reader.last_key(last))
    }

    /// Whether the first row not below a key is buffered, or the window is and the key is absent.
    #[inline]
    pub(super) fn holds(&self, key: &[u8], window: &BlockWindow) -> bool {
        if !window.is_exact {
            return self.brackets(key);
        }
        if let (Some(edges), Some(x)) = (self.edges, word(key)) {
            return self.held.contains(&window.first) && (window.last < self.held.end || x <= edges.held_last);
        }
        let ends_after = || self.last_key().is_some_and(|last| compare_keys(key, last).is_le());
        self.held.contains(&window.first) && (window.last < self.held.end || ends_after())
    }

    /// Whether the first row not below a key is certainly buffered, or beyond all rows.
    fn brackets(&self, key: &[u8]) -> bool {
        let Some(last) = self.last_key() else { return self.held == (0..self.blocks()) };
        let begins_before = self.held.start == 0 || self.begins_before(key);
        begins_before && (self.held.end == self.blocks() || compare_keys(key, last).is_le())
    }

    /// Whether no row of a key precedes the buffered blocks.
    fn begins_before(&self, key: &[u8]) -> bool {
        match compare_keys(self.reader.first_key(0), key) {
            Ordering::Less => true,
            Ordering::Equal => self.reader.inner().is_distinct(),
            Ordering::Greater => false,
        }
    }

    /// Reads the window of a key, or, if it exceeds the buffer, the part that holds the key. If an approximate window
    /// was wrong, searches for the right blocks.
    pub(super) fn load(&mut self, key: &[u8], window: &BlockWindow) -> Result<()> {
        self.read(window.first..window.last + 1)?;
        while self.held.end <= window.last && self.ends_before(key) {
            self.read(self.held.end..window.last + 1)?;
        }
        if !window.is_exact && !self.brackets(key) {
            self.search(key)?;
        }
        Ok(())
    }

    fn ends_before(&self, key: &[u8]) -> bool {
        self.last_key().is_none_or(|last| compare_keys(last, key).is_lt())
    }

    fn read(&mut self, blocks: Range<u64>) -> Result<()> {
        self.held = self.reader.read(blocks)?;
        self.block = 0;
        self.lay_out()
    }

    /// Decodes the rows of the current block unless they are dense.
    fn lay_out(&mut self) -> Result<()> {
        let number = |block: usize| word(self.reader.last_key(block));
        let last_block = self.reader.len().saturating_sub(1);
        let edges = number(self.block).zip(number(last_block)).filter(|_| self.block < self.reader.len());
        let before = self.block.checked_sub(1).and_then(number);
        self.edges = edges.map(|(last, held_last)| EdgeKeys { before, last, held_last });
        self.reader.decode(self.block)?;
        self.has_long = self.reader.has_long(self.block);
        Ok(())
    }

    /// Gallops in either direction from the buffered blocks, one block at a time.
    fn search(&mut self, key: &[u8]) -> Result<()> {
        let blocks = self.blocks();
        // Invariant: the last block that begins before the key is in `low..high`, unless there is none.
        let (mut low, mut high) = (self.held.start, self.held.start + 1);
        let mut step = 1;
        if self.reader.is_empty() || self.begins_before(key) {
            high = self.held.end;
            while high < blocks {
                self.read(high..high + 1)?;
                if !self.reader.is_empty() && !self.begins_before(key) {
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
                if !self.reader.is_empty() && self.begins_before(key) {
                    break;
                }
            }
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            self.read(middle..middle + 1)?;
            if self.reader.is_empty() || self.begins_before(key) { low = middle } else { high = middle }
        }
        self.read(low..low + 1)?;
        // The first row of the key may begin the next non-empty block.
        while self.ends_before(key) && self.held.end < blocks {
            self.read(self.held.end..self.held.end + 1)?;
        }
        Ok(())
    }

    /// Whether the first row not below a key is in the current block, given that it does not precede it.
    #[inline]
    pub(super) fn is_in_current_block(&self, key: &[u8]) -> bool {
        if let (Some(edges), Some(x)) = (self.edges, word(key)) {
            return x <= edges.last && edges.before.is_none_or(|before| before < x);
        }
        self.block < self.reader.len() && compare_keys(self.reader.last_key(self.block), key).is_ge() && {
            self.block == 0 || compare_keys(self.reader.last_key(self.block - 1), key).is_lt()
        }
    }

    /// Moves to the block of the first row not below a key; `false` if all buffered blocks precede it.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let (mut low, mut high) = (0, self.reader.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if compare_keys(self.reader.last_key(middle), key).is_lt() { low = middle + 1 } else { high = middle }
        }
        self.block = low;
        if low == self.reader.len() {
            self.edges = None;
            return Ok(false);
        }
        self.lay_out()?;
        Ok(true)
    }

    /// Whether a run that reaches the end of the block may continue in the next one.
    pub(super) fn run_may_continue(&self) -> bool {
        !self.reader.inner().is_distinct() && self.number() + 1 < self.blocks()
    }

    /// Moves to the next block, reading it if necessary; returns whether it begins with the key.
    pub(super) fn next_block(&mut self, key: &[u8]) -> Result<bool> {
        if !self.run_may_continue() {
            return Ok(false);
        }
        if self.block + 1 < self.reader.len() {
            self.block += 1;
            self.lay_out()?;
        } else {
            let next = self.held.end;
            let growth = self.held.end - self.held.start + 1;
            if next >= self.blocks() {
                return Ok(false);
            }
            self.read(next..next + growth)?;
        }
        Ok(self.block < self.reader.len() && self.reader.first_key(self.block) == key)
    }

    /// Returns to a block; `false` if it is no longer buffered.
    pub(super) fn go_to(&mut self, number: u64) -> Result<bool> {
        let Some(block) = self.reader.position(number) else { return Ok(false) };
        self.block = block;
        self.lay_out()?;
        Ok(true)
    }

    #[inline]
    pub(super) fn has_long(&self) -> bool {
        self.has_long
    }

    /// Loads the value of a row of the current block into `value`, replacing its content.
    pub(super) fn value(&self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        self.reader.value(self.block, row, value)
    }

    /// Emits rows of the current block without right values.
    pub(super) fn emit_unpaired(&self, rows: Range<usize>, sink: &mut JoinProbeSink<'_>) -> Result<()> {
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
