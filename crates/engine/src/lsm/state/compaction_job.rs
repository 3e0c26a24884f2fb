//! Compaction jobs.

use super::entry::KeyspaceId;
use super::version::{KeySpan, KeyspaceLevels, LEVELS, ManifestEdit, TableFileMeta};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The reason for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobReason {
    /// Level 0 has too many tables.
    Level0,
    /// A level exceeds its target size.
    Size,
    /// Many entries of a table can be dropped.
    Droppable,
    /// All entries of a table have expired.
    Expired,
    /// Iterators skip many removed entries.
    Skips,
    /// Adjacent tables of a level are small.
    SmallTables,
    /// A table points into value files being collected.
    Collection,
    /// A caller requested it.
    Requested,
}

/// A compaction: tables whose entries are merged into new tables of one level.
///
/// The inputs include all tables of the output level that overlap them and, if level 0 takes part, all overlapping
/// tables of level 0, so newer entries stay above older ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompactionJob {
    pub(crate) keyspace: KeyspaceId,
    pub(crate) reason: JobReason,
    /// The tables by level, each level in its own order: level 0 newest first.
    pub(crate) inputs: Vec<(usize, Arc<TableFileMeta>)>,
    pub(crate) output_level: usize,
    /// Whether the inputs are only moved to the output level, without merging.
    pub(crate) moves: bool,
    /// Whether the inputs are removed without being read.
    pub(crate) drops: bool,
    /// Whether all entries go to one table, however large.
    pub(crate) makes_one_table: bool,
    /// Whether nothing below overlaps the inputs, so entries and tombstones that no snapshot needs may be dropped.
    pub(crate) is_bottom: bool,
    /// Value files being collected: values in them are copied to a new file.
    pub(crate) collect: BTreeSet<u64>,
    /// The keys of all inputs.
    pub(crate) span: KeySpan,
    /// Tables of the level below the output that overlap the inputs, in order.
    below: Vec<Arc<TableFileMeta>>,
}

impl CompactionJob {
    /// A job over `inputs`; `None` if there are none. The tables must be in `levels`.
    pub(in crate::lsm) fn new(
        keyspace: KeyspaceId,
        reason: JobReason,
        inputs: Vec<(usize, Arc<TableFileMeta>)>,
        output_level: usize,
        levels: &KeyspaceLevels,
    ) -> Option<Self> {
        let span = KeySpan::of(inputs.iter().map(|(_, table)| table.as_ref()))?;
        let below: Vec<_> = levels.overlapping(output_level + 1, span.bounds()).cloned().collect();
        let is_bottom =
            (output_level + 1..LEVELS).all(|level| levels.overlapping(level, span.bounds()).next().is_none());
        Some(Self {
            keyspace,
            reason,
            inputs,
            output_level,
            moves: false,
            drops: false,
            makes_one_table: false,
            is_bottom,
            collect: BTreeSet::new(),
            span,
            below,
        })
    }

    /// Bytes of all inputs.
    pub(crate) fn bytes(&self) -> u64 {
        self.inputs.iter().map(|(_, table)| table.bytes).sum()
    }

    /// Whether a table is an input.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.inputs.iter().any(|(_, table)| table.number == number)
    }

    /// Bytes of the level below that overlap the inputs.
    pub(in crate::lsm) fn bytes_below(&self) -> u64 {
        self.below.iter().map(|table| table.bytes).sum()
    }

    /// The edit of a job that [moves](Self::moves) its inputs; otherwise the edit that removes them, to which outputs
    /// are added.
    pub(crate) fn edit(&self) -> ManifestEdit {
        let mut edit = ManifestEdit::default();
        for (level, table) in &self.inputs {
            if self.moves {
                edit.move_table(self.keyspace, *level, self.output_level, table);
            } else {
                edit.removed.push((self.keyspace, *level, table.number));
            }
        }
        edit
    }

    /// The rules that end output tables; each has at most `table_bytes`, except for the versions of its last key.
    pub(crate) fn cuts(&self, table_bytes: u64) -> OutputCuts<'_> {
        OutputCuts {
            below: &self.below,
            overlap_bytes: 0,
            overlap_bytes_max: table_bytes.saturating_mul(OVERLAP_FACTOR_MAX),
        }
    }

    /// Keys that split the job into at most `parts` parts of about the same size, to run concurrently: each part goes
    /// from one key up to the next. They are starts of tables, so a job over few tables has few parts.
    pub(crate) fn splits(&self, parts: usize) -> Vec<Vec<u8>> {
        let mut starts: Vec<(&[u8], u64)> =
            self.inputs.iter().map(|(_, table)| (table.smallest.as_slice(), table.bytes)).collect();
        starts.sort_unstable();
        let (total, parts) = (self.bytes().max(1), parts.max(1) as u128);
        let (mut before, mut part, mut splits) = (0_u64, 1, Vec::<Vec<u8>>::new());
        for (key, bytes) in starts {
            let is_due = u128::from(before) * parts >= part * u128::from(total) && part < parts;
            if is_due && key > self.span.smallest.as_slice() && splits.last().is_none_or(|last| last.as_slice() < key) {
                splits.push(key.to_vec());
                part = u128::from(before) * parts / u128::from(total) + 1;
            }
            before += bytes;
        }
        splits
    }
}

/// An output table overlaps at most this many times its own size in the level below, which bounds its later compaction.
const OVERLAP_FACTOR_MAX: u64 = 10;

/// Finds the keys at which a new output table begins, to limit its overlap with the level below.
#[derive(Debug)]
pub(crate) struct OutputCuts<'a> {
    below: &'a [Arc<TableFileMeta>],
    overlap_bytes: u64,
    overlap_bytes_max: u64,
}

impl OutputCuts<'_> {
    /// Whether a new output table begins at `key`. Keys must increase between calls.
    pub(crate) fn is_cut(&mut self, key: &[u8]) -> bool {
        while let Some((first, rest)) = self.below.split_first().filter(|(first, _)| first.ends_before(key)) {
            self.overlap_bytes += first.bytes;
            self.below = rest;
        }
        let is_cut = self.overlap_bytes > self.overlap_bytes_max;
        if is_cut {
            self.overlap_bytes = 0;
        }
        is_cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(number: u64, smallest: u8, largest: u8, bytes: u64) -> Arc<TableFileMeta> {
        let (smallest, largest) = (vec![smallest], vec![largest]);
        Arc::new(TableFileMeta { number, bytes, records: 1, smallest, largest, ..TableFileMeta::default() })
    }

    #[test]
    fn parts_are_of_about_the_same_size_and_never_empty() {
        let inputs: Vec<_> = (0..100).map(|i| (6, table(u64::from(i) + 1, i, i, 10))).collect();
        let job = CompactionJob::new(0, JobReason::Size, inputs, 6, &KeyspaceLevels::default()).unwrap();
        for parts in 1..20 {
            let splits = job.splits(parts);
            assert_eq!(splits.len(), parts - 1);
            let mut edges: Vec<usize> = splits.iter().map(|key| key[0] as usize).collect();
            edges.insert(0, 0);
            edges.push(100);
            let sizes: Vec<usize> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 1, "{sizes:?}");
        }
    }

    #[test]
    fn tables_that_begin_together_are_one_part() {
        let inputs = (0..10).map(|i| (0, table(i + 1, 0, 200, 10))).collect();
        let job = CompactionJob::new(0, JobReason::Level0, inputs, 6, &KeyspaceLevels::default()).unwrap();
        assert!(job.splits(4).is_empty());
    }

    #[test]
    fn an_output_ends_where_it_shares_keys_with_too_much_below() {
        let mut levels = KeyspaceLevels::default();
        levels.add(2, (0..100).map(|i| table(u64::from(i) + 1, i, i, 10)).collect()).unwrap();
        let job = CompactionJob::new(0, JobReason::Size, vec![(1, table(1000, 0, 99, 100))], 1, &levels).unwrap();
        let mut cuts = job.cuts(20);
        let found: Vec<u8> = (0..100).filter(|&key| cuts.is_cut(&[key])).collect();
        assert_eq!(found, [21, 42, 63, 84]);
    }
}
