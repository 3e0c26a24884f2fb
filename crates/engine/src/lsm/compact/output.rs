//! Tables out of a compaction or a flush.

use super::super::entry::{Kind, Sequence};
use super::super::learn::ModelBuilder;
use super::super::options::DbOptions;
use super::super::removals::Removals;
use super::super::table_file::{
    MODEL_PROPERTY, OPENINGS_PROPERTY, ORIGIN_PROPERTY, Origin, PLACE_PROPERTY, REMOVALS_PROPERTY, place_property,
};
use super::super::version::{FileKind, OutputCuts, TableMeta, file_name};
use super::context::JobContext;
use crate::error::{Error, Result};
use crate::io::Timer;
use crate::table::{KeyType, TableWriter, WriteOptions};
use crate::tune::DesignRequest;
use crate::vlog::ValuePlace;
use std::sync::Arc;

/// How a store's tables are written: records with tags, exact separators over their blocks.
fn table_options(options: &DbOptions) -> WriteOptions {
    WriteOptions {
        key_type: KeyType::Bytes,
        block_bytes: Some(options.block_bytes),
        design: DesignRequest::Coded,
        // What a store writes it can open, in as little memory as it may be given later.
        resident_budget_bytes: Some(options.root_limit_bytes()),
        profile: options.profile.clone(),
        compression: options.compression,
        filter_bits_per_key: options.filter_bits_per_key,
        versioned: true,
        ..WriteOptions::default()
    }
}

/// Writes entries in order to tables, as many as it takes.
///
/// A table ends between two keys, never between two entries of one. Each gets what of the range removals lies between the first
/// key of its own and that of the next table, so that tables stay disjoint:
///
/// ```text
/// entries         b  c   | f  g       table 1: b c, removal [a, f)
/// removal     [a ---------- h)        table 2: f g, removal [f, h)
/// ```
///
/// Dropping it without [`Self::finish`] removes all that it has written.
#[derive(Debug)]
pub(crate) struct Outputs<'a> {
    context: &'a JobContext<'a>,
    /// What stays of the range removals of all inputs.
    removals: Removals,
    limits: Limits<'a>,
    /// The first and the last key of all inputs, where models are fitted to the tables.
    ends: Option<(Vec<u8>, Vec<u8>)>,
    learning_us: f64,
    growing: Option<Growing>,
    finished: Vec<TableMeta>,
    /// The newest operation of the inputs so far.
    newest: Sequence,
    is_done: bool,
}

/// Where tables end.
#[derive(Debug)]
pub(crate) struct Limits<'a> {
    /// A table ends when it has this size, in bytes.
    pub(crate) table_bytes: u64,
    /// And where it would share keys with too much of the level below.
    pub(crate) cuts: Option<OutputCuts<'a>>,
}

/// The table that is being written.
#[derive(Debug)]
struct Growing {
    writer: TableWriter,
    meta: TableMeta,
    /// The last key; it goes to the meta in the end.
    last: Vec<u8>,
    /// Value files that are pointed into, and how many bytes; the last one that was met stands first.
    values: Vec<(u64, u64)>,
    model: Option<ModelBuilder>,
}

impl<'a> Outputs<'a> {
    /// With `ends`, the first and the last key that can come, a model is fitted to each table.
    pub(crate) fn new(
        context: &'a JobContext<'a>,
        removals: Removals,
        limits: Limits<'a>,
        ends: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Self {
        let (growing, finished) = (None, Vec::new());
        Self {
            context,
            removals,
            limits,
            ends,
            learning_us: 0.0,
            growing,
            finished,
            newest: context.origin.newest,
            is_done: false,
        }
    }

    /// Notes the operation that an entry of the inputs came from.
    #[inline]
    pub(crate) fn note_newest(&mut self, sequence: Sequence) {
        self.newest = self.newest.max(sequence);
    }

    /// Appends an entry; its place in the order is the caller's duty.
    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], kind: Kind, sequence: Sequence, value: &[u8]) -> Result<()> {
        let is_new_key = self.growing.as_ref().is_none_or(|growing| growing.last != key);
        if is_new_key && self.is_due(key) {
            self.end_table(Some(key))?;
        }
        let growing = match &mut self.growing {
            Some(growing) => growing,
            None => self.growing.insert(Growing::begin(self.context, key, self.ends.as_ref())?),
        };
        growing.add(key, kind, sequence, value, is_new_key)
    }

    /// Whether the table at hand ends before a key.
    #[inline]
    fn is_due(&mut self, key: &[u8]) -> bool {
        let is_cut = self.limits.cuts.as_mut().is_some_and(|cuts| cuts.is_cut(key));
        self.growing.as_ref().is_some_and(|growing| is_cut || growing.writer.bytes_so_far() >= self.limits.table_bytes)
    }

    /// Ends the last table and gives what was written, and the microseconds that went into models.
    ///
    /// # Errors
    /// Whatever the storage reports; nothing is left then.
    pub(crate) fn finish(mut self) -> Result<(Vec<TableMeta>, f64)> {
        if self.growing.is_none() && !self.removals.is_empty() {
            self.growing = Some(Growing::begin(self.context, &[], None)?);
        }
        self.end_table(None)?;
        self.is_done = true;
        Ok((std::mem::take(&mut self.finished), self.learning_us))
    }

    /// Ends the table at hand; the next one begins with `next`.
    fn end_table(&mut self, next: Option<&[u8]>) -> Result<()> {
        let Some(growing) = self.growing.take() else { return Ok(()) };
        let removals = self.removals.clip(None, next);
        self.removals = match next {
            Some(next) => self.removals.clip(Some(next), None),
            None => Removals::default(),
        };
        let name = file_name(growing.meta.number, FileKind::Table);
        let mut growing = growing;
        self.learning_us += growing.learn();
        let origin = Origin { newest: self.newest, ..self.context.origin };
        growing.writer.set_property(ORIGIN_PROPERTY, origin.encode());
        let openings = self.context.openings(growing.values.iter().map(|&(file, _)| file));
        growing.writer.set_property(OPENINGS_PROPERTY, openings.encode());
        match growing.finish(&removals) {
            Ok(meta) => self.finished.push(meta),
            Err(error) => {
                // It may have got its name before the failure.
                self.context.discard([name]);
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Drop for Outputs<'_> {
    fn drop(&mut self) {
        self.growing = None;
        if !self.is_done {
            self.context.discard(self.finished.iter().map(|meta| file_name(meta.number, FileKind::Table)));
        }
    }
}

impl Growing {
    fn begin(context: &JobContext<'_>, first: &[u8], ends: Option<&(Vec<u8>, Vec<u8>)>) -> Result<Self> {
        let number = context.next_number()?;
        let name = file_name(number, FileKind::Table);
        let mut options = table_options(context.options);
        options.properties.push((PLACE_PROPERTY.to_owned(), place_property(context.bond.store, number)));
        let mut writer = TableWriter::create(Arc::clone(context.storage), &name, options)?;
        writer.limit_memory(context.memory_bytes / 2);
        let meta =
            TableMeta { number, smallest: first.to_vec(), smallest_sequence: Sequence::MAX, ..TableMeta::default() };
        let model = ends.map(|(first, last)| ModelBuilder::new(first, last, context.options.model_error));
        Ok(Self { writer, meta, last: Vec::new(), values: Vec::new(), model })
    }

    #[inline]
    fn add(&mut self, key: &[u8], kind: Kind, sequence: Sequence, value: &[u8], is_new_key: bool) -> Result<()> {
        self.writer.append_version(key, kind as u8, sequence, value)?;
        if let Some(model) = &mut self.model {
            model.add(key);
        }
        let meta = &mut self.meta;
        meta.records += 1;
        meta.removals += u64::from(kind == Kind::Remove);
        meta.smallest_sequence = meta.smallest_sequence.min(sequence);
        meta.largest_sequence = meta.largest_sequence.max(sequence);
        if is_new_key {
            self.last.clear();
            self.last.extend_from_slice(key);
        } else {
            meta.shadowed += 1;
        }
        if kind == Kind::Pointer { self.note_value(value) } else { Ok(()) }
    }

    /// Adds the model to the table, if one is fitted; returns the microseconds that it took in all.
    fn learn(&mut self) -> f64 {
        let Some(builder) = self.model.take() else { return 0.0 };
        let timer = Timer::start();
        let fitting_us = builder.fitting_us();
        if let Some(model) = builder.finish() {
            self.writer.set_property(MODEL_PROPERTY, model.encode());
        }
        fitting_us + timer.elapsed_us()
    }

    fn note_value(&mut self, place: &[u8]) -> Result<()> {
        let Some(place) = ValuePlace::decode(place) else {
            return Err(Error::damaged(self.writer.path(), 0, "a pointer to a value that makes no sense"));
        };
        match self.values.iter().position(|&(file, _)| file == place.file) {
            Some(at) => self.values.swap(0, at),
            None => {
                self.values.push((place.file, 0));
                let last = self.values.len() - 1;
                self.values.swap(0, last);
            }
        }
        if let Some((_, bytes)) = self.values.first_mut() {
            *bytes += place.stored_bytes;
        }
        Ok(())
    }

    fn finish(mut self, removals: &Removals) -> Result<TableMeta> {
        let mut meta = self.meta;
        let is_empty = meta.records == 0;
        meta.largest = self.last;
        if let Some((start, end)) = removals.bounds() {
            if is_empty || start < meta.smallest.as_slice() {
                meta.smallest = start.to_vec();
            }
            if is_empty || end.is_empty() || end > meta.largest.as_slice() {
                (meta.largest, meta.largest_excluded) = (end.to_vec(), true);
            }
            meta.has_range_removals = true;
            for removal in removals.iter() {
                meta.smallest_sequence = meta.smallest_sequence.min(removal.sequence);
                meta.largest_sequence = meta.largest_sequence.max(removal.sequence);
            }
            self.writer.set_property(REMOVALS_PROPERTY, removals.encode());
        }
        self.values.sort_unstable();
        meta.values = self.values;
        meta.bytes = self.writer.finish()?.file_bytes;
        Ok(meta)
    }
}
