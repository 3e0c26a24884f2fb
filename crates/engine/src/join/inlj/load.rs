//! The index loader: builds the index of a method from the index stored in the table, or, if that is not fine enough,
//! from one scan of the data.

use super::btree::{BTree, StringBTree};
use super::learned::{Borders, Learned, Lines};
use super::piece::Piece;
use super::separators::{Children, Numbers, Strings};
use super::window::{BlockIndex, Finger, Window, coordinate};
use crate::error::Result;
use crate::join::options::Method;
use crate::join::task::{Share, Spent, Task};
use crate::table::{NodeRun, Table};
use ogive_model::coded::{shortest_separator, visit_children, visit_separators};
use ogive_model::pgm::{self, Pgm};
use ogive_model::radix_spline::{self, RadixSpline};
use ogive_model::rmi::{self, Rmi};
use ogive_model::{Locate, tuning};
use std::sync::Arc;

/// The paper samples every 128th key (Section 6.1).
const SAMPLE_EVERY_KEYS: u64 = 128;
/// Error of the sampled PGM-index in samples (Section 6.1).
const SAMPLED_ERROR: u64 = 2;
/// Largest error of a RadixSpline in keys (Section 6.6: "maximum error to be 256").
const RADIX_SPLINE_ERROR_KEYS: u64 = 256;
/// A pass over the data reads so much at once, in bytes.
const PASS_BYTES: u64 = 1 << 20;
/// Memory of an index in parts of what the join has left: the rest is for rows.
const INDEX_PART: u64 = 2;

/// An index in memory over the blocks of a table, and its memory.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(super) index: Arc<dyn BlockIndex>,
    _memory: Share,
}

/// Makes the index of a method for a table. `leaf_iterator` says whether look-ups walk along the leaves; `None` is what the method stands for.
///
/// # Errors
/// What the storage reports, and damage; [`Error::JoinMemoryShort`](crate::Error::JoinMemoryShort) where memory has no room for it.
pub(crate) fn load(table: &Table, method: Method, leaf_iterator: Option<bool>, task: &Task) -> Result<Loaded> {
    task.spend(Spent::Loading, || {
        let (index, memory) = Loader { table, task }.load(method, leaf_iterator)?;
        Ok(Loaded { index, _memory: memory })
    })
}

/// Separators in memory, one for each block unless they are those that a table has.
enum Separators {
    Numbers(Numbers),
    Strings(Strings),
}

impl Separators {
    fn bytes(&self) -> u64 {
        match self {
            Self::Numbers(numbers) => numbers.memory_bytes(),
            Self::Strings(strings) => strings.memory_bytes(),
        }
    }

    fn into_index(self) -> Arc<dyn BlockIndex> {
        match self {
            Self::Numbers(numbers) => Arc::new(numbers),
            Self::Strings(strings) => Arc::new(strings),
        }
    }
}

struct Loader<'a> {
    table: &'a Table,
    task: &'a Task,
}

impl Loader<'_> {
    fn load(&self, method: Method, leaf_iterator: Option<bool>) -> Result<(Arc<dyn BlockIndex>, Share)> {
        let is_forward = leaf_iterator.unwrap_or(method != Method::InljBtree);
        let keys = self.table.len().div_ceil(self.table.blocks().max(1)).max(1);
        let in_blocks = |error_keys: u64| error_keys.div_ceil(keys);
        match method {
            Method::InljBtree | Method::InljBtreeIter => {
                let (separators, memory) = self.block_separators()?;
                let index: Arc<dyn BlockIndex> = match separators {
                    _ if is_forward => separators.into_index(),
                    Separators::Numbers(numbers) => Arc::new(BTree::new(numbers)),
                    Separators::Strings(strings) => Arc::new(StringBTree::new(strings)),
                };
                self.settle(index, memory)
            }
            Method::InljPgm { error_keys } => {
                self.train(is_forward, |fences| Pgm::build(fences, in_blocks(error_keys), pgm::UPPER_ERROR))
            }
            Method::InljPgmSampled => {
                let error = in_blocks(SAMPLE_EVERY_KEYS * SAMPLED_ERROR);
                self.train(is_forward, |fences| Pgm::build(fences, error, pgm::UPPER_ERROR))
            }
            Method::InljRadixSpline => {
                let error = in_blocks(RADIX_SPLINE_ERROR_KEYS);
                self.train(is_forward, |fences| {
                    let front = tuning::pareto(radix_spline::try_settings(fences, error));
                    let best = tuning::within(&front, PARETO_BYTES).map(|tried| tried.setting);
                    let smallest = radix_spline::RadixSplineSetting { error_children: error, radix_bits: 1 };
                    RadixSpline::build(fences, best.unwrap_or(smallest))
                })
            }
            Method::InljRmi => self.train(is_forward, |fences| {
                let front = tuning::pareto(rmi::try_settings(fences, fences.len() / 16 + 1));
                let best = tuning::within(&front, PARETO_BYTES).map(|tried| tried.setting);
                Rmi::build(fences, best.unwrap_or(rmi::RmiSetting { root: rmi::RootKind::Linear, leaves: 1 }))
            }),
            _ => self.own(),
        }
    }

    /// Trains a learned index on the borders between blocks.
    fn train<L: Locate + std::fmt::Debug + Send + Sync + 'static>(
        &self,
        is_forward: bool,
        build: impl FnOnce(&[ogive_model::Fence]) -> L,
    ) -> Result<(Arc<dyn BlockIndex>, Share)> {
        let (separators, mut memory) = self.block_separators()?;
        let fence_bytes = self.table.blocks() * size_of::<ogive_model::Fence>() as u64;
        self.grow(&mut memory, fence_bytes)?;
        let borders = match &separators {
            Separators::Numbers(numbers) => Borders::of_numbers(numbers),
            Separators::Strings(strings) => Borders::of_strings(strings),
        };
        drop(separators);
        self.settle(Arc::new(Learned::train(borders, is_forward, build)), memory)
    }

    /// Makes the share that of the finished index.
    fn settle(&self, index: Arc<dyn BlockIndex>, mut memory: Share) -> Result<(Arc<dyn BlockIndex>, Share)> {
        let bytes = index.bytes();
        match bytes.checked_sub(memory.bytes()) {
            Some(more) => self.grow(&mut memory, more)?,
            None => memory.shrink_to(bytes),
        }
        Ok((index, memory))
    }

    fn grow(&self, memory: &mut Share, bytes: u64) -> Result<()> {
        if memory.try_grow(bytes) {
            return Ok(());
        }
        let blocks = self.table.blocks();
        let what = format!("an index over {blocks} blocks takes {bytes} bytes more than this join has left");
        let limit_bytes = memory.limit_bytes();
        Err(memory.short((limit_bytes.saturating_add(bytes), limit_bytes), what))
    }

    /// The table's own index, as far as memory holds it; else the table is asked for each key.
    fn own(&self) -> Result<(Arc<dyn BlockIndex>, Share)> {
        let budget = &self.task.budget;
        let Some(layer) = self.table.bottom_layer() else {
            let (separators, memory) = self.block_separators()?;
            return self.settle(separators.into_index(), memory);
        };
        let estimated = match layer.is_exact {
            true => self.separator_bytes() / layer.granule.max(1) + 1024,
            false => layer.nodes.saturating_mul((8 + size_of::<ogive_model::line::LineNode>()) as u64),
        };
        let is_held = self.task.fast_paths.separators && estimated <= budget.left_bytes() / INDEX_PART;
        let memory = is_held.then(|| budget.try_take(estimated)).flatten();
        let Some(memory) = memory else {
            let index: Arc<dyn BlockIndex> = Arc::new(Routed { table: self.table.clone() });
            return Ok((index, budget.take(0, "an index")?));
        };
        if layer.is_exact {
            let separators = self.stored_separators(layer.granule)?;
            return self.settle(separators.into_index(), memory);
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
        self.settle(Arc::new(Lines::new(nodes, self.table.blocks())), memory)
    }

    /// About the memory of one separator for each block.
    fn separator_bytes(&self) -> u64 {
        let each = if self.table.key_type().is_numeric() { 8 } else { STRING_BYTES };
        self.table.blocks().saturating_mul(each)
    }

    /// The separators that the table has on file.
    fn stored_separators(&self, granule: u64) -> Result<Separators> {
        let blocks = self.table.blocks();
        let mut numbers = Numbers::new(Children::Even(granule), blocks);
        let mut strings = Strings::new(Children::Even(granule), blocks);
        let mut firsts = Vec::new();
        let is_numeric = self.table.key_type().is_numeric();
        let (requests, bytes) = self.table.visit_bottom(|run| match run {
            NodeRun::Steps(pieces) => {
                numbers.starts.extend(pieces.iter().map(|piece| piece.separator));
                firsts.extend(pieces.iter().map(|piece| piece.first_child));
                Some(())
            }
            NodeRun::Coded { payload, groups, .. } => {
                visit_children(payload, groups, |_, separator| numbers.starts.push(separator))
            }
            NodeRun::CodedStrings { payload, groups, end_child } => {
                let mut pushed = Some(());
                visit_separators(payload, groups, |child, separator| {
                    if child < end_child {
                        pushed = pushed.and_then(|()| strings.push_stored(&separator));
                    }
                })?;
                pushed
            }
            NodeRun::Lines(_) => None,
        })?;
        self.task.count_reads(requests, bytes);
        if !is_numeric {
            strings.complete();
            return Ok(Separators::Strings(strings));
        }
        if !firsts.is_empty() {
            let is_even = firsts.iter().zip(0..).all(|(&first, i)| first == i) && firsts.len() as u64 == blocks;
            numbers.children = if is_even { Children::Even(1) } else { Children::From(firsts) };
        }
        Ok(Separators::Numbers(numbers))
    }

    /// One separator for each block: from the table's exact layer without reading data, where it has one as fine as that.
    fn block_separators(&self) -> Result<(Separators, Share)> {
        let mut memory = self.task.budget.take(self.separator_bytes(), "an index")?;
        let layer = self.table.bottom_layer().filter(|layer| layer.is_exact && layer.granule == 1);
        let stored = match layer.filter(|_| self.task.fast_paths.separators) {
            Some(layer) => Some(self.stored_separators(layer.granule)?),
            None => None,
        };
        let separators = match stored {
            Some(Separators::Numbers(Numbers { children: Children::From(_), .. })) | None => self.pass()?,
            Some(separators) => separators,
        };
        if let Some(more) = separators.bytes().checked_sub(memory.bytes()) {
            self.grow(&mut memory, more)?;
        }
        Ok((separators, memory))
    }

    /// The separators of the blocks, from the data.
    fn pass(&self) -> Result<Separators> {
        let blocks = self.table.blocks();
        let each = (PASS_BYTES.min(self.task.budget.left_bytes() / 4) / self.table.largest_block_bytes().max(1)).max(1);
        let memory = self.task.budget.take(2 * each * self.table.largest_block_bytes(), "a pass over a table")?;
        let mut gathered = Gathered::new(self.table);
        let mut piece = Piece::default();
        for first in (0..blocks).step_by(each as usize) {
            self.task.check()?;
            let range = first..(first + each).min(blocks);
            piece.read(self.table, self.task, std::slice::from_ref(&range), PASS_BYTES)?;
            for block in 0..piece.blocks.len() {
                gathered.push(piece.blocks[block].number, piece.first_key(block), piece.last_key(block));
            }
        }
        drop(memory);
        Ok(gathered.finish())
    }
}

/// Memory that is set aside for the separator of a block of byte strings: a short one, its number, and where it ends.
const STRING_BYTES: u64 = 32;
/// Of the Pareto-optimal settings the most exact is taken whose structure has at most so many bytes: what stays in a core's cache.
const PARETO_BYTES: u64 = 1 << 20;

/// Separators as they are gathered from blocks.
struct Gathered {
    numbers: Numbers,
    strings: Strings,
    is_numeric: bool,
    last: Option<Vec<u8>>,
    /// Blocks that have their separators.
    blocks: u64,
    is_full: bool,
}

impl Gathered {
    fn new(table: &Table) -> Self {
        Self {
            numbers: Numbers::new(Children::Even(1), table.blocks()),
            strings: Strings::new(Children::Even(1), table.blocks()),
            is_numeric: table.key_type().is_numeric(),
            last: None,
            blocks: 0,
            is_full: false,
        }
    }

    /// Takes the next block that has rows, by its edges.
    fn push(&mut self, number: u64, first: &[u8], last: &[u8]) {
        let separator = match &self.last {
            None if self.is_numeric => Some(first.to_vec()),
            None => Some(Vec::new()),
            Some(before) if !self.is_numeric => Some(shortest_separator(before, first)),
            Some(before) if before[..] == *first => {
                coordinate(first).checked_add(1).map(|next| next.to_be_bytes().to_vec())
            }
            Some(_) => Some(first.to_vec()),
        };
        // Blocks behind a border that no key can cross hold nothing but repeats.
        self.is_full |= separator.is_none();
        let separator = separator.unwrap_or_default();
        while self.blocks <= number && !self.is_full {
            self.blocks += 1;
            match self.is_numeric {
                true => self.numbers.starts.push(coordinate(&separator)),
                false => self.is_full = self.strings.push(&separator, &[]).is_none(),
            }
        }
        self.last = Some(last.to_vec());
    }

    fn finish(mut self) -> Separators {
        if self.is_numeric {
            return Separators::Numbers(self.numbers);
        }
        self.strings.complete();
        Separators::Strings(self.strings)
    }
}

/// A table whose index is not held: it is asked for each key.
#[derive(Debug)]
struct Routed {
    table: Table,
}

impl BlockIndex for Routed {
    fn find(&self, key: &[u8], _: &mut Finger) -> Result<Window> {
        let (first, last, proof) = self.table.route_blocks(key)?;
        Ok(Window { first, last, proof })
    }

    fn bytes(&self) -> u64 {
        0
    }
}
