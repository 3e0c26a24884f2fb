//! The B-tree join for unsorted input: inserts every row of a relation in the order of arrival.
//!
//! As in the paper (Sections 5.4 and 6.3), a complete B-tree is built for each relation; then the smaller one is
//! scanned, and the larger one probed. The paper's trees hold pointers into the relation; here they hold the values
//! themselves, which saves a random read per match. Pages are those of the [`Index`], within the memory of the join;
//! they are never made durable.
//!
//! It is the rival of the learned partition: once a tree exceeds memory, nearly every insert reads a page and writes
//! one.

use crate::error::{Error, Result};
use crate::index::{Index, IndexOptions, Key, KeyType, Kind, OpenOptions, Payload, Raw};
use crate::join::rows::RowStream;
use crate::join::sorted::{SortInput, SortProgress, input_bytes, sorted_facts};
use crate::join::source::{KeyRange, Prober, Relation, RelationFacts};
use crate::join::spill::{Spill, SpillName};
use crate::join::stored::{IndexRelation, decode};
use crate::join::task::{MemoryGrant, Task};
use crate::page::{Durability, PageOptions};
use std::sync::Arc;

/// Rows per commit, and between two checks for a stop request.
const ROWS_PER_COMMIT: u64 = 1 << 17;
/// Memory of an index beyond `PageOptions::budget_bytes`: changed pages and the log map, 1 MiB each, and a reserve.
const FIXED_OVERHEAD_BYTES: u64 = 5 << 19;
/// Bytes of rows per byte of memory for the space map; pages are half full at worst.
const ROW_BYTES_PER_MEMORY_BYTE: u64 = 2048;
/// Longest key in bytes.
const KEY_BYTES_MAX: usize = 16;

/// Builds sorted copies of two relations, as B-trees. Building and reading them takes `memory_bytes` of the remaining
/// budget.
///
/// # Errors
/// [`Error::InvalidArgument`] for relations whose rows vary in width or whose keys exceed 16 bytes;
/// [`Error::JoinMemoryShort`] if memory is short; errors of the relations and the spill storage;
/// [`Error::Interrupted`].
pub(crate) fn btree_copies(
    relations: [&Arc<dyn Relation>; 2],
    spill: &Arc<Spill>,
    memory_bytes: u64,
) -> Result<[Arc<dyn Relation>; 2]> {
    let rows = relations.iter().map(|relation| relation.facts().rows).sum();
    let mut progress = SortProgress::new(spill.task(), rows);
    let [left, right] = relations;
    let left = PendingTree::build(&**left, spill, memory_bytes, &mut progress)?;
    let right = PendingTree::build(&**right, spill, memory_bytes, &mut progress)?;
    Ok([left.open(memory_bytes / 2)?, right.open(memory_bytes / 2)?])
}

/// A built tree, closed.
struct PendingTree {
    name: SpillName,
    spill: Arc<Spill>,
    facts: RelationFacts,
    /// Widths of key and value.
    widths: (usize, usize),
}

/// Evaluates an expression with the types of keys and payloads that suit two widths.
macro_rules! for_types {
    ($widths:expr, $key:ident, $payload:ident => $body:expr) => {
        match $widths {
            (0..=8, 8) => {
                type $key = Raw<u64>;
                type $payload = [u8; 8];
                $body
            }
            (0..=8, _) => {
                type $key = Raw<u64>;
                type $payload = Vec<u8>;
                $body
            }
            (_, 8) => {
                type $key = Raw<u128>;
                type $payload = [u8; 8];
                $body
            }
            _ => {
                type $key = Raw<u128>;
                type $payload = Vec<u8>;
                $body
            }
        }
    };
}

impl PendingTree {
    fn build(
        relation: &dyn Relation,
        spill: &Arc<Spill>,
        memory_bytes: u64,
        progress: &mut SortProgress,
    ) -> Result<Self> {
        let facts = relation.facts();
        let widths = facts.key_bytes.zip(facts.value_bytes).filter(|(key, _)| (1..=KEY_BYTES_MAX).contains(key));
        let Some(widths) = widths else {
            return Err(Error::InvalidArgument(format!(
                "partition:btree needs rows of one width, with keys of 1 to {KEY_BYTES_MAX} bytes, which {} does not \
                 have; use partition or merge",
                facts.name
            )));
        };
        let tree = Self { name: spill.name()?, spill: Arc::clone(spill), facts: sorted_facts(facts), widths };
        for_types!(widths, K, V => tree.fill::<K, V>(relation, memory_bytes, progress))
    }

    fn pages(&self, memory_bytes: u64) -> Result<(PageOptions, MemoryGrant)> {
        let memory = self.spill.task().budget.take(memory_bytes, "a B-tree")?;
        let bytes = self.facts.rows.saturating_mul((self.widths.0 + self.widths.1) as u64);
        let beyond = FIXED_OVERHEAD_BYTES + bytes / ROW_BYTES_PER_MEMORY_BYTE;
        let Some(budget_bytes) = memory_bytes.checked_sub(beyond) else {
            let what = format!(
                "a B-tree of {} takes at least {beyond} bytes of memory, and has {memory_bytes}",
                self.facts.name
            );
            return Err(memory.short((beyond, memory_bytes), what));
        };
        let pages = PageOptions {
            budget_bytes,
            durability: Durability::Buffered,
            checkpoint_bytes: 2 * memory_bytes,
            log_limit_bytes: u64::MAX,
            ..PageOptions::default()
        };
        Ok((pages, memory))
    }

    fn fill<K: Key, V: Payload>(
        self,
        relation: &dyn Relation,
        memory_bytes: u64,
        progress: &mut SortProgress,
    ) -> Result<Self> {
        let task = Arc::clone(self.spill.task());
        let input_bytes = input_bytes(memory_bytes);
        let (pages, _memory) = self.pages(memory_bytes.saturating_sub(input_bytes))?;
        let (key, value) = self.widths;
        let key_type = match key {
            8 => KeyType::U64,
            16 => KeyType::U128,
            other => KeyType::Bytes(other as u8),
        };
        let options = IndexOptions {
            kind: Kind::BTREE,
            key_type: Some(key_type),
            payload_bytes: Some(value),
            duplicates: true,
            pages,
            ..IndexOptions::default()
        };
        let index: Index<K, V> = Index::create(self.spill.storage(), self.name.as_str(), &options)?;
        let mut input =
            SortInput::open(relation, &KeyRange::all(), &task, task.budget.take(input_bytes, "reading")?, progress)?;
        let (mut inserted, mut transaction) = (0, index.write()?);
        let mut long = Vec::new();
        while input.advance()? {
            input.visit(&mut long, |key, value| {
                transaction.insert(decode::<K>(key, key.len()), V::load(value))?;
                inserted += 1;
                Ok(())
            })?;
            if inserted >= ROWS_PER_COMMIT {
                transaction.commit()?;
                (inserted, transaction) = (0, index.write()?);
            }
        }
        transaction.commit()?;
        index.close()?;
        Ok(self)
    }

    fn open(self, memory_bytes: u64) -> Result<Arc<dyn Relation>> {
        let (pages, memory) = self.pages(memory_bytes)?;
        let options = OpenOptions { pages };
        for_types!(self.widths, K, V => {
            let index: Index<K, V> = Index::open_read_only(self.spill.storage(), self.name.as_str(), &options)?;
            let relation = Box::new(IndexRelation::new(&index)?);
            Ok(Arc::new(BuiltTree { relation, facts: self.facts, _memory: memory, _name: self.name }))
        })
    }
}

/// A B-tree that is removed with its last reader.
#[derive(Debug)]
struct BuiltTree {
    // The file is closed before it is removed.
    relation: Box<dyn Relation>,
    facts: RelationFacts,
    _memory: MemoryGrant,
    _name: SpillName,
}

impl Relation for BuiltTree {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        self.relation.scan(range, task, memory)
    }

    fn prober(&self) -> Option<Result<Box<dyn Prober>>> {
        self.relation.prober()
    }
}
