//! The index loader: loads the index stored in a table, or builds separators from one scan of the data.

use super::block_batch::BlockBatch;
use crate::error::Result;
use crate::join::methods::lookup::separators::{BlockSeparators, ChildBlocks, NumericSeparators, StringSeparators};
use crate::join::methods::lookup::stored_lines::StoredLines;
use crate::join::methods::lookup::window::{BlockFinger, BlockIndex, BlockWindow, key_prefix_of};
use crate::join::rows::task::{MemoryGrant, Task, TimedPhase};
use crate::table::{NodeRun, Table};
use ogive_model::coded::{shortest_separator, visit_children, visit_separators};
use std::sync::Arc;

/// Bytes read at once when separators are built from the data.
const SCAN_BYTES: u64 = 1 << 20;
/// The stored index may take 1/2 of the remaining memory: the rest is for rows.
const INDEX_DIVISOR: u64 = 2;

/// An index over the blocks of a table, with its memory grant.
#[derive(Debug)]
pub(crate) struct LoadedIndex {
    pub(in crate::join::methods::lookup) index: Arc<dyn BlockIndex>,
    _memory: MemoryGrant,
}

impl LoadedIndex {
    /// Whether lookups read nothing.
    pub(in crate::join::methods::lookup) fn is_in_memory(&self) -> bool {
        self.index.bytes() > 0
    }
}

/// Loads the index of a table, or builds one if the table stores none.
///
/// # Errors
/// Errors of the storage, and damage; [`Cause::JoinMemory`](crate::Cause::JoinMemory) if the index does not
/// fit memory.
pub(crate) fn load(table: &Table, task: &Task) -> Result<LoadedIndex> {
    task.timed(TimedPhase::Loading, || {
        let (index, memory) = IndexLoader { table, task }.stored_index()?;
        Ok(LoadedIndex { index, _memory: memory })
    })
}

pub(in crate::join::methods::lookup) struct IndexLoader<'a> {
    pub(in crate::join::methods::lookup) table: &'a Table,
    pub(in crate::join::methods::lookup) task: &'a Task,
}

impl IndexLoader<'_> {
    /// Adjusts the grant to the size of the finished index.
    fn adjust_memory(
        &self,
        index: Arc<dyn BlockIndex>,
        mut memory: MemoryGrant,
    ) -> Result<(Arc<dyn BlockIndex>, MemoryGrant)> {
        self.resize(&mut memory, index.bytes())?;
        Ok((index, memory))
    }

    /// Adjusts the grant of an index to `bytes`.
    pub(in crate::join::methods::lookup) fn resize(&self, memory: &mut MemoryGrant, bytes: u64) -> Result<()> {
        match bytes.checked_sub(memory.bytes()) {
            Some(more) => self.grow(memory, more),
            None => {
                memory.shrink_to(bytes);
                Ok(())
            }
        }
    }

    fn grow(&self, memory: &mut MemoryGrant, bytes: u64) -> Result<()> {
        if memory.try_grow(bytes) {
            return Ok(());
        }
        let blocks = self.table.blocks();
        let what = format!("an index over {blocks} blocks needs {bytes} more bytes of memory than this join has left");
        let limit_bytes = memory.limit_bytes();
        Err(memory.short((limit_bytes.saturating_add(bytes), limit_bytes), what))
    }

    /// The table's own index, in memory if it fits; otherwise the table routes each key.
    fn stored_index(&self) -> Result<(Arc<dyn BlockIndex>, MemoryGrant)> {
        let budget = &self.task.budget;
        let Some(layer) = self.table.bottom_layer() else {
            let (separators, memory) = self.block_separators()?;
            return self.adjust_memory(separators.into_index(), memory);
        };
        let estimated = match layer.is_exact {
            true => self.separator_bytes() / layer.granule.max(1) + 1024,
            false => layer.nodes.saturating_mul((8 + size_of::<ogive_model::line::LineNode>()) as u64),
        };
        let is_held = self.task.fast_paths.separators && estimated <= budget.left_bytes() / INDEX_DIVISOR;
        let memory = is_held.then(|| budget.try_take(estimated)).flatten();
        let Some(memory) = memory else { return self.routed() };
        if layer.is_exact {
            let most_bytes = (memory.bytes() + budget.left_bytes()) / INDEX_DIVISOR;
            return match self.stored_separators(layer.granule, most_bytes)? {
                Some(separators) => self.adjust_memory(separators.into_index(), memory),
                None => self.routed(),
            };
        }
        let mut nodes = Vec::new();
        let (requests, bytes) = self.table.visit_bottom(|run| match run {
            NodeRun::Lines(lines) => {
                nodes.extend(lines);
                Some(())
            }
            _ => None,
        })?;
        self.task.count_reads(requests, bytes);
        self.adjust_memory(Arc::new(StoredLines::new(nodes, self.table.blocks())), memory)
    }

    /// The table as its own index, which takes no memory of the join.
    fn routed(&self) -> Result<(Arc<dyn BlockIndex>, MemoryGrant)> {
        let index: Arc<dyn BlockIndex> = Arc::new(RoutedTable { table: self.table.clone() });
        Ok((index, self.task.budget.take(0, "an index")?))
    }

    /// Estimated memory of one separator per block.
    fn separator_bytes(&self) -> u64 {
        let each = if self.table.key_type().is_numeric() { 8 } else { STRING_SEPARATOR_BYTES };
        self.table.blocks().saturating_mul(each)
    }

    /// Loads the separators stored in the table; `None` if they take more than `most_bytes`. Only the length of byte
    /// strings is unknown before.
    fn stored_separators(&self, granule: u64, most_bytes: u64) -> Result<Option<BlockSeparators>> {
        let blocks = self.table.blocks();
        let mut numbers = NumericSeparators::new(ChildBlocks::Even(granule), blocks);
        let mut strings = StringSeparators::new(ChildBlocks::Even(granule), blocks);
        let (mut firsts, mut is_held) = (Vec::new(), true);
        let is_numeric = self.table.key_type().is_numeric();
        let (requests, bytes) = self.table.visit_bottom(|run| match run {
            NodeRun::Steps(pieces) => {
                numbers.starts.extend(pieces.iter().map(|block_batch| block_batch.separator));
                firsts.extend(pieces.iter().map(|block_batch| block_batch.first_child));
                Some(())
            }
            NodeRun::Coded { payload, groups, .. } => {
                visit_children(payload, groups, |_, separator| numbers.starts.push(separator))
            }
            NodeRun::CodedStrings { payload, groups, end_child } => {
                let mut pushed = Some(());
                visit_separators(payload, groups, |child, separator| {
                    if child < end_child && is_held {
                        pushed = pushed.and_then(|()| strings.push_stored(&separator));
                        is_held = strings.complete_bytes() <= most_bytes;
                    }
                })?;
                pushed
            }
            NodeRun::Lines(_) => None,
        })?;
        self.task.count_reads(requests, bytes);
        if !is_held {
            return Ok(None);
        }
        if !is_numeric {
            strings.complete();
            return Ok(Some(BlockSeparators::Strings(strings)));
        }
        if !firsts.is_empty() {
            let is_even = firsts.iter().zip(0..).all(|(&first, i)| first == i) && firsts.len() as u64 == blocks;
            numbers.children = if is_even { ChildBlocks::Even(1) } else { ChildBlocks::From(firsts) };
        }
        Ok(Some(BlockSeparators::Numeric(numbers)))
    }

    /// One separator per block: from the table's exact layer, without reading data, if that is fine enough.
    pub(in crate::join::methods::lookup) fn block_separators(&self) -> Result<(BlockSeparators, MemoryGrant)> {
        let mut memory = self.task.budget.take(self.separator_bytes(), "an index")?;
        let layer = self.table.bottom_layer().filter(|layer| layer.is_exact && layer.granule == 1);
        let most_bytes = memory.bytes().saturating_add(self.task.budget.left_bytes());
        let short = |memory: &MemoryGrant| {
            let blocks = self.table.blocks();
            let what =
                format!("an index over {blocks} blocks needs more memory than this join has: separators are long");
            memory.short((2, 1), what)
        };
        let stored = match layer.filter(|_| self.task.fast_paths.separators) {
            Some(layer) => {
                let separators = self.stored_separators(layer.granule, most_bytes)?;
                Some(separators.ok_or_else(|| short(&memory))?)
            }
            None => None,
        };
        let separators = match stored {
            Some(BlockSeparators::Numeric(NumericSeparators { children: ChildBlocks::From(_), .. })) | None => {
                self.scan_separators(most_bytes)?.ok_or_else(|| short(&memory))?
            }
            Some(separators) => separators,
        };
        if let Some(more) = separators.bytes().checked_sub(memory.bytes()) {
            self.grow(&mut memory, more)?;
        }
        Ok((separators, memory))
    }

    /// Builds the separators of all blocks by a scan of the data; `None` if they take more than `most_bytes`.
    fn scan_separators(&self, most_bytes: u64) -> Result<Option<BlockSeparators>> {
        let blocks = self.table.blocks();
        let each = (SCAN_BYTES.min(self.task.budget.left_bytes() / 4) / self.table.largest_block_bytes().max(1)).max(1);
        let memory = self.task.budget.take(2 * each * self.table.largest_block_bytes(), "a scan of a table")?;
        let mut builder = SeparatorBuilder::new(self.table);
        let mut block_batch = BlockBatch::default();
        for first in (0..blocks).step_by(each as usize) {
            self.task.check()?;
            let range = first..(first + each).min(blocks);
            block_batch.read(self.table, self.task, std::slice::from_ref(&range), SCAN_BYTES)?;
            for block in 0..block_batch.blocks.len() {
                builder.push(
                    block_batch.blocks[block].number,
                    block_batch.first_key(block),
                    block_batch.last_key(block),
                );
                if builder.strings.complete_bytes() > most_bytes {
                    return Ok(None);
                }
            }
        }
        drop(memory);
        Ok(Some(builder.finish()))
    }
}

/// Memory reserved per byte-string separator: a short string, its integer, and its end offset.
const STRING_SEPARATOR_BYTES: u64 = 32;

/// Builds separators from the edge keys of blocks.
struct SeparatorBuilder {
    numbers: NumericSeparators,
    strings: StringSeparators,
    is_numeric: bool,
    last: Option<Vec<u8>>,
    /// Number of blocks with separators.
    blocks: u64,
    is_full: bool,
}

impl SeparatorBuilder {
    fn new(table: &Table) -> Self {
        Self {
            numbers: NumericSeparators::new(ChildBlocks::Even(1), table.blocks()),
            strings: StringSeparators::new(ChildBlocks::Even(1), table.blocks()),
            is_numeric: table.key_type().is_numeric(),
            last: None,
            blocks: 0,
            is_full: false,
        }
    }

    /// Adds the next non-empty block, by its edge keys.
    fn push(&mut self, number: u64, first: &[u8], last: &[u8]) {
        let separator = match &self.last {
            None if self.is_numeric => Some(first.to_vec()),
            None => Some(Vec::new()),
            Some(before) if !self.is_numeric => Some(shortest_separator(before, first)),
            Some(before) if before[..] == *first => {
                key_prefix_of(first).checked_add(1).map(|next| next.to_be_bytes().to_vec())
            }
            Some(_) => Some(first.to_vec()),
        };
        // Blocks after a border that no key can cross hold only repeats.
        self.is_full |= separator.is_none();
        let separator = separator.unwrap_or_default();
        while self.blocks <= number && !self.is_full {
            self.blocks += 1;
            match self.is_numeric {
                true => self.numbers.starts.push(key_prefix_of(&separator)),
                false => self.is_full = self.strings.push(&separator, &[]).is_none(),
            }
        }
        self.last = Some(last.to_vec());
    }

    fn finish(mut self) -> BlockSeparators {
        if self.is_numeric {
            return BlockSeparators::Numeric(self.numbers);
        }
        self.strings.complete();
        BlockSeparators::Strings(self.strings)
    }
}

/// A table whose index is not in memory: it routes each key.
#[derive(Debug)]
struct RoutedTable {
    table: Table,
}

impl BlockIndex for RoutedTable {
    fn find(&self, key: &[u8], _: &mut BlockFinger) -> Result<BlockWindow> {
        let (first, last, is_exact) = self.table.route_blocks(key)?;
        Ok(BlockWindow { first, last, is_exact })
    }

    fn bytes(&self) -> u64 {
        0
    }
}
