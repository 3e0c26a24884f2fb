//! The B-tree join for unsorted input: inserts every row of a relation in the order of arrival.
//!
//! As in the paper (Sections 5.4 and 6.3), a complete B-tree is built for each relation; then the smaller one is
//! scanned, and the larger one probed. The paper's trees hold pointers into the relation; here they hold the values
//! themselves, which saves a random read per match. Pages are those of the [`Index`], within the memory of the join;
//! they are never made durable.
//!
//! It is the rival of the learned partition: once a tree exceeds memory, nearly every insert reads a page and writes
//! one.

use super::cost;
use ogive::index::{Index, IndexKind, IndexOptions, Key, Payload, RawKey, Word};
use ogive::join::extend::{CopiedRelation, CopyJob, CopyMethod, JoinCostModel, MemoryGrant, SpillName};
use ogive::join::{JoinCost, JoinSide, JoinSource};
use ogive::page::PageOptions;
use ogive::{Durability, Error, KeyType, Result};

/// Rows per commit, and between two checks for a stop request.
const ROWS_PER_COMMIT: u64 = 1 << 17;
/// Memory of an index beyond `PageOptions::memory_bytes`: changed pages and the log map, 1 MiB each, and a reserve.
const FIXED_OVERHEAD_BYTES: u64 = 5 << 19;
/// Bytes of rows per byte of memory for the space map; pages are half full at worst.
const ROW_BYTES_PER_MEMORY_BYTE: u64 = 2048;
/// Longest key in bytes.
const KEY_BYTES_MAX: usize = 16;
/// The scan of the input gets 1/16 of the memory, within bounds: it reads in long requests, and the rest is for the
/// tree.
const INPUT_DIVISOR: u64 = 16;
const INPUT_BYTES_MIN: u64 = 32 << 10;
const INPUT_BYTES_MAX: u64 = 4 << 20;

/// The method: a B-tree of each relation.
#[derive(Debug)]
pub(super) struct Trees;

impl CopyMethod for Trees {
    fn name(&self) -> &'static str {
        "partition:btree"
    }

    fn cost(&self, model: &JoinCostModel<'_>) -> Result<JoinCost, String> {
        cost::trees(model)
    }

    fn copy(&self, job: &mut CopyJob<'_>) -> Result<[CopiedRelation; 2]> {
        let memory_bytes = job.memory_bytes();
        let left = PendingTree::build(job, JoinSide::Left, memory_bytes)?;
        let right = PendingTree::build(job, JoinSide::Right, memory_bytes)?;
        Ok([left.open(job, memory_bytes / 2)?, right.open(job, memory_bytes / 2)?])
    }
}

/// A built tree, closed.
struct PendingTree {
    name: SpillName,
    side: JoinSide,
    /// Widths of key and value.
    widths: (usize, usize),
}

/// Evaluates an expression with the types of keys and payloads that suit two widths.
macro_rules! for_types {
    ($widths:expr, $key:ident, $payload:ident => $body:expr) => {
        match $widths {
            (0..=8, 8) => {
                type $key = RawKey<u64>;
                type $payload = [u8; 8];
                $body
            }
            (0..=8, _) => {
                type $key = RawKey<u64>;
                type $payload = Vec<u8>;
                $body
            }
            (_, 8) => {
                type $key = RawKey<u128>;
                type $payload = [u8; 8];
                $body
            }
            _ => {
                type $key = RawKey<u128>;
                type $payload = Vec<u8>;
                $body
            }
        }
    };
}

impl PendingTree {
    fn build(job: &mut CopyJob<'_>, side: JoinSide, memory_bytes: u64) -> Result<Self> {
        let facts = job.facts(side);
        let widths = facts.key_bytes.zip(facts.value_bytes).filter(|(key, _)| (1..=KEY_BYTES_MAX).contains(key));
        let Some(widths) = widths else {
            return Err(Error::input(format!(
                "partition:btree needs rows of one width, with keys of 1 to {KEY_BYTES_MAX} bytes, which {} does not \
                 have; use partition or merge",
                facts.name
            )));
        };
        let tree = Self { name: job.file_name()?, side, widths };
        for_types!(widths, K, V => tree.fill::<K, V>(job, memory_bytes))
    }

    fn pages(&self, job: &CopyJob<'_>, memory_bytes: u64) -> Result<(PageOptions, MemoryGrant)> {
        let memory = job.take(memory_bytes, "a B-tree")?;
        let facts = job.facts(self.side);
        let bytes = facts.rows.saturating_mul((self.widths.0 + self.widths.1) as u64);
        let beyond = FIXED_OVERHEAD_BYTES + bytes / ROW_BYTES_PER_MEMORY_BYTE;
        let Some(pages_bytes) = memory_bytes.checked_sub(beyond) else {
            let what =
                format!("a B-tree of {} takes at least {beyond} bytes of memory, and has {memory_bytes}", facts.name);
            return Err(memory.short((beyond, memory_bytes), what));
        };
        let mut pages = PageOptions::default();
        pages.memory_bytes = pages_bytes;
        pages.durability = Durability::Buffered;
        pages.checkpoint_bytes = 2 * memory_bytes;
        pages.log_limit_bytes = u64::MAX;
        Ok((pages, memory))
    }

    fn fill<K: Key, V: Payload>(self, job: &mut CopyJob<'_>, memory_bytes: u64) -> Result<Self> {
        let input_bytes = (memory_bytes / INPUT_DIVISOR).clamp(INPUT_BYTES_MIN, INPUT_BYTES_MAX);
        let (pages, _memory) = self.pages(job, memory_bytes.saturating_sub(input_bytes))?;
        let (key, value) = self.widths;
        let key_type = match key {
            8 => KeyType::U64,
            16 => KeyType::U128,
            other => KeyType::FixedBytes(other as u8),
        };
        let options = IndexOptions::default()
            .kind(IndexKind::BTREE)
            .key_type(key_type)
            .payload_bytes(value)
            .duplicates(true)
            .pages(pages);
        let index: Index<K, V> = Index::create((job.storage().clone(), self.name.as_str()), &options)?;
        let memory = job.take(input_bytes, "reading")?;
        let mut input = job.rows(self.side, memory)?;
        let (mut inserted, mut transaction) = (0, index.write()?);
        while input.advance()? {
            input.visit(|key, value| {
                transaction.insert(decoded::<K>(key), V::load(value))?;
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

    fn open(self, job: &CopyJob<'_>, memory_bytes: u64) -> Result<CopiedRelation> {
        let (pages, memory) = self.pages(job, memory_bytes)?;
        for_types!(self.widths, K, V => {
            let options = IndexOptions::default().pages(pages);
            let index: Index<K, V> = Index::open_read_only((job.storage(), self.name.as_str()), &options)?;
            Ok(job.copied(self.side, &JoinSource::index(&index)?, (memory, self.name)))
        })
    }
}

/// A key of up to 16 bytes, as the index stores it.
fn decoded<K: Key>(bytes: &[u8]) -> K {
    let mut buffer = [0; KEY_BYTES_MAX];
    let width = bytes.len().min(KEY_BYTES_MAX);
    buffer[KEY_BYTES_MAX - width..].copy_from_slice(&bytes[..width]);
    K::from_word(K::Word::from_u128(u128::from_be_bytes(buffer)))
}
