//! The output tables of a flush or a compaction.

use super::context::JobContext;
use super::form::TableForm;
use crate::error::{Error, Result};
use crate::lsm::state::compaction_job::OutputCuts;
use crate::lsm::state::entry::{Entry, Sequence, ValueKind};
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::range_tombstones::RangeTombstones;
use crate::lsm::state::tables::learner::ModelWriter;
use crate::lsm::state::tables::table_file::{
    MODEL_PROPERTY, OPENINGS_PROPERTY, ORIGIN_PROPERTY, RANGE_TOMBSTONES_PROPERTY, STORE_PROPERTY, TableOrigin,
    store_property,
};
use crate::lsm::state::version::{FileKind, TableFileMeta, file_name};
use crate::table::{TableTuningOptions, TableWriteOptions, TableWriter};
use crate::tune::DesignRequest;
use crate::types::KeyType;
use crate::vlog::ValueFilePointer;
use std::sync::Arc;

/// The options of a store's tables: tagged records, with exact separators over their blocks.
pub(crate) fn table_options(options: &DbOptions, form: TableForm) -> TableWriteOptions {
    TableWriteOptions {
        key_type: KeyType::Bytes,
        block_bytes: Some(form.block_bytes),
        design: DesignRequest::Coded,
        // Limits the index, so that the table can be opened with as little memory as the store may have later.
        tuning: TableTuningOptions::default().resident_bytes(form.root_bytes),
        profile: options.profile.clone(),
        compression: options.compression,
        coding: form.coding,
        filter_bits_per_key: form.filter_bits_per_key,
        versioned: true,
        ..TableWriteOptions::default()
    }
}

/// Writes entries in order to as many tables as needed.
///
/// A table ends between two keys, never between two versions of one. Each table gets the parts of the range tombstones
/// between its first key and the first key of the next table, so tables stay disjoint:
///
/// ```text
/// entries         b  c   | f  g       table 1: b c, tombstone [a, f)
/// tombstone   [a ---------- h)        table 2: f g, tombstone [f, h)
/// ```
///
/// Dropping it without [`Self::finish`] removes all its files.
#[derive(Debug)]
pub(crate) struct OutputWriter<'a> {
    context: &'a JobContext<'a>,
    /// The remaining range tombstones of all inputs.
    tombstones: RangeTombstones,
    limits: OutputLimits<'a>,
    /// The first and the last key of all inputs, if models are fitted to the tables.
    ends: Option<(Vec<u8>, Vec<u8>)>,
    current: Option<OutputTable>,
    finished: Vec<TableFileMeta>,
    /// The newest operation of the inputs so far.
    newest: Sequence,
    is_done: bool,
}

/// The rules that end a table.
#[derive(Debug)]
pub(crate) struct OutputLimits<'a> {
    /// A table ends at this size, in bytes.
    pub(crate) table_bytes: u64,
    /// A table also ends where it would overlap too much of the level below.
    pub(crate) cuts: Option<OutputCuts<'a>>,
}

/// The table being written.
#[derive(Debug)]
struct OutputTable {
    writer: TableWriter,
    meta: TableFileMeta,
    /// The last key; it becomes the largest key of the metadata.
    last: Vec<u8>,
    /// Value files pointed into, with the bytes pointed at; the most recent one first.
    values: Vec<(u64, u64)>,
    /// Fits a model, if a learner asked for one.
    model: Option<Box<dyn ModelWriter>>,
}

impl<'a> OutputWriter<'a> {
    /// With `ends`, the first and the last key of the inputs, a model is fitted to each table.
    pub(crate) fn new(
        context: &'a JobContext<'a>,
        tombstones: RangeTombstones,
        limits: OutputLimits<'a>,
        ends: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Self {
        let (current, finished) = (None, Vec::new());
        Self { context, tombstones, limits, ends, current, finished, newest: context.origin.newest, is_done: false }
    }

    /// Records the sequence number of an input entry.
    #[inline]
    pub(crate) fn note_newest(&mut self, sequence: Sequence) {
        self.newest = self.newest.max(sequence);
    }

    /// Appends an entry; entries must come in order.
    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], kind: ValueKind, sequence: Sequence, value: &[u8]) -> Result<()> {
        let is_new_key = self.current.as_ref().is_none_or(|current| current.last != key);
        if is_new_key && self.is_due(key) {
            self.end_table(Some(key))?;
        }
        let current = match &mut self.current {
            Some(current) => current,
            None => self.current.insert(OutputTable::begin(self.context, key, self.ends.as_ref())?),
        };
        current.add(key, kind, sequence, value, is_new_key)
    }

    /// Whether the current table ends before a key.
    #[inline]
    fn is_due(&mut self, key: &[u8]) -> bool {
        let is_cut = self.limits.cuts.as_mut().is_some_and(|cuts| cuts.is_cut(key));
        self.current.as_ref().is_some_and(|current| is_cut || current.writer.bytes_so_far() >= self.limits.table_bytes)
    }

    /// Finishes the last table; returns all tables.
    ///
    /// # Errors
    /// Errors of the storage; all files are then removed.
    pub(crate) fn finish(mut self) -> Result<Vec<TableFileMeta>> {
        if self.current.is_none() && !self.tombstones.is_empty() {
            self.current = Some(OutputTable::begin(self.context, &[], None)?);
        }
        self.end_table(None)?;
        self.is_done = true;
        Ok(std::mem::take(&mut self.finished))
    }

    /// Finishes the current table; the next one begins with `next`.
    fn end_table(&mut self, next: Option<&[u8]>) -> Result<()> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let tombstones = self.tombstones.clip(None, next);
        self.tombstones = match next {
            Some(next) => self.tombstones.clip(Some(next), None),
            None => RangeTombstones::default(),
        };
        let name = file_name(current.meta.number, FileKind::Table);
        let mut current = current;
        current.store_model();
        let origin = TableOrigin { newest: self.newest, ..self.context.origin };
        current.writer.set_property(ORIGIN_PROPERTY, origin.encode());
        let openings = self.context.openings(current.values.iter().map(|&(file, _)| file));
        current.writer.set_property(OPENINGS_PROPERTY, openings.encode());
        match current.finish(&tombstones) {
            Ok(meta) => self.finished.push(meta),
            Err(error) => {
                // The file may have got its name before the failure.
                self.context.discard([name]);
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Drop for OutputWriter<'_> {
    fn drop(&mut self) {
        self.current = None;
        if !self.is_done {
            self.context.discard(self.finished.iter().map(|meta| file_name(meta.number, FileKind::Table)));
        }
    }
}

impl OutputTable {
    fn begin(context: &JobContext<'_>, first: &[u8], ends: Option<&(Vec<u8>, Vec<u8>)>) -> Result<Self> {
        let number = context.next_number()?;
        let name = file_name(number, FileKind::Table);
        let mut options = table_options(context.options, context.form);
        options.properties.push((STORE_PROPERTY.to_owned(), store_property(context.binding.store, number)));
        options.properties.extend(context.statement.properties());
        let mut writer = TableWriter::create((Arc::clone(context.storage), &name), options)?;
        writer.limit_memory(context.memory_bytes / 2);
        let meta = TableFileMeta {
            number,
            smallest: first.to_vec(),
            smallest_sequence: Sequence::MAX,
            ..TableFileMeta::default()
        };
        let model = context.learner.zip(ends).and_then(|(learner, (first, last))| learner.model_writer(first, last));
        Ok(Self { writer, meta, last: Vec::new(), values: Vec::new(), model })
    }

    #[inline]
    fn add(&mut self, key: &[u8], kind: ValueKind, sequence: Sequence, value: &[u8], is_new_key: bool) -> Result<()> {
        self.writer.append_version(key, kind as u8, sequence, value)?;
        if let Some(model) = &mut self.model {
            model.add(key);
        }
        let meta = &mut self.meta;
        meta.records += 1;
        meta.tombstones += u64::from(kind == ValueKind::Remove);
        meta.smallest_sequence = meta.smallest_sequence.min(sequence);
        meta.largest_sequence = meta.largest_sequence.max(sequence);
        if is_new_key {
            self.last.clear();
            self.last.extend_from_slice(key);
        } else {
            meta.shadowed += 1;
        }
        if matches!(kind, ValueKind::Value | ValueKind::Remove) {
            return Ok(());
        }
        let entry = Entry { key, sequence, kind, value };
        if let Some(expires_ms) = entry.expires_ms() {
            self.meta.note_expiring(expires_ms);
        }
        entry.pointer().map_or(Ok(()), |pointer| self.note_value(pointer))
    }

    /// Adds the fitted model to the table, if there is one.
    fn store_model(&mut self) {
        if let Some(model) = self.model.take().and_then(|model| model.finish()) {
            self.writer.set_property(MODEL_PROPERTY, model);
        }
    }

    fn note_value(&mut self, pointer: &[u8]) -> Result<()> {
        let Some(pointer) = ValueFilePointer::decode(pointer) else {
            return Err(Error::damaged(self.writer.path(), 0, "a value pointer is malformed"));
        };
        match self.values.iter().position(|&(file, _)| file == pointer.file) {
            Some(at) => self.values.swap(0, at),
            None => {
                self.values.push((pointer.file, 0));
                let last = self.values.len() - 1;
                self.values.swap(0, last);
            }
        }
        if let Some((_, bytes)) = self.values.first_mut() {
            *bytes += pointer.stored_bytes;
        }
        Ok(())
    }

    fn finish(mut self, tombstones: &RangeTombstones) -> Result<TableFileMeta> {
        let mut meta = self.meta;
        let is_empty = meta.records == 0;
        meta.largest = self.last;
        if let Some((start, end)) = tombstones.bounds() {
            if is_empty || start < meta.smallest.as_slice() {
                meta.smallest = start.to_vec();
            }
            if is_empty || end.is_empty() || end > meta.largest.as_slice() {
                (meta.largest, meta.largest_excluded) = (end.to_vec(), true);
            }
            meta.has_range_tombstones = true;
            for tombstone in tombstones.iter() {
                meta.smallest_sequence = meta.smallest_sequence.min(tombstone.sequence);
                meta.largest_sequence = meta.largest_sequence.max(tombstone.sequence);
            }
            self.writer.set_property(RANGE_TOMBSTONES_PROPERTY, tombstones.encode());
        }
        self.values.sort_unstable();
        meta.values = self.values;
        meta.bytes = self.writer.finish()?.file_bytes;
        Ok(meta)
    }
}
