//! Drawing a shape, writing its rows in the ways that it names, and comparing all answers.

use super::check::{Answers, Effort, check_table, doing};
use super::choices::Choices;
use super::rows::Rows;
use super::shape::{Ends, Shape, ShapeFailure, Way};
use super::{draw, join, store};
use ogive::block::compress::Compression;
use ogive::io::{MemoryStorage, Meter, Storage};
use ogive::table::{SortingWriter, Table, TableOptions, TableReport, TableWriteOptions, TableWriter};
use std::sync::Arc;

/// Block size from which reading a block per lookup takes minutes.
const LARGE_BLOCK_BYTES: u64 = 64 << 10;
/// Number of blocks for which a cache within the memory keeps some.
const CACHED_BLOCKS: u64 = 64;

impl Shape {
    /// The shape of a seed, small or large.
    pub fn of_seed(seed: u64) -> Self {
        let mut choices = Choices::of_seed(seed);
        let most_bytes = match choices.below(16) {
            0..8 => 128 << 10,
            8..14 => 3 << 20,
            _ => 40 << 20,
        };
        draw::shape(&mut choices, most_bytes)
    }

    /// Decodes a shape from bytes, with a limit on the bytes of rows.
    pub fn of_bytes(bytes: &[u8], most_bytes: u64) -> Self {
        draw::shape(&mut Choices::of_bytes(bytes), most_bytes)
    }

    /// Writes the rows as the shape says, and holds all answers against the sorted rows.
    ///
    /// # Errors
    /// The wrong answer, or the failure.
    pub fn check(&self, effort: Effort) -> Result<(), ShapeFailure> {
        let fail = |detail: String| ShapeFailure { shape: Box::new(self.clone()), detail };
        let rows = Rows::new(self);
        let effort = match self.table.design {
            // Without an index, each lookup reads the whole table.
            "none" => effort.where_each_reads(rows.bytes()),
            _ if self.reads_blocks_anew() => effort.where_each_reads(self.block_bytes()),
            _ => effort,
        };
        let checked = match &self.way {
            Way::Sorted => self.check_sorted(&rows, effort),
            Way::Unsorted { sort_bytes } => self.check_unsorted(&rows, *sort_bytes, effort),
            Way::Store(form) => store::check(self, form, &rows, effort),
            Way::Join(form) => join::check(self, form, &rows, effort),
        };
        checked.map_err(fail)
    }

    /// Writes the rows as a table to a storage, unsorted if the shape says so and else sorted, and holds all answers
    /// against the sorted rows. Sorts spill to memory.
    ///
    /// # Errors
    /// The wrong answer, or the failure.
    pub fn check_in(&self, storage: &Arc<dyn Storage>, effort: Effort) -> Result<(), ShapeFailure> {
        let rows = Rows::new(self);
        let effort =
            effort.where_each_reads(if self.table.design == "none" { rows.bytes() } else { self.block_bytes() });
        let checked = match &self.way {
            Way::Unsorted { sort_bytes } => self.write_unsorted(&rows, *sort_bytes, storage),
            _ => self.write_sorted(&rows, storage).map(|(table, _)| table),
        };
        let checked = checked.and_then(|table| check_table(&table, &Answers::of(&rows), effort));
        checked.map_err(|detail| ShapeFailure { shape: Box::new(self.clone()), detail })
    }

    /// Size of a block.
    fn block_bytes(&self) -> u64 {
        u64::from(self.table.block_bytes.unwrap_or(4096))
    }

    /// Whether a store has so little memory, or is opened again with so little, that its cache, in shards, holds no
    /// large block.
    fn reads_blocks_anew(&self) -> bool {
        let Way::Store(form) = &self.way else { return false };
        let memory_bytes = form.memory_bytes.min(form.reopened_bytes);
        self.block_bytes() >= LARGE_BLOCK_BYTES && memory_bytes < CACHED_BLOCKS * self.block_bytes()
    }

    /// About how many bytes its rows take.
    pub fn bytes(&self) -> u64 {
        let end_bytes = match self.ends {
            Ends::Nested => self.rows * 3 / 4,
            Ends::Tails(bytes) => 8 + bytes,
            Ends::Paths => 24,
            _ => 10,
        };
        (self.rows * (self.prefix_bytes + end_bytes + self.values.mean_bytes())) as u64
    }

    /// The options of a table of this shape.
    pub(super) fn write_options(&self) -> Result<TableWriteOptions, String> {
        let width = self.values.width().filter(|_| self.table.states_value_width);
        Ok(TableWriteOptions::default()
            .key_type(self.key_type)
            .value_width(width.map(|width| width as u32))
            .block_bytes(self.table.block_bytes)
            .design(self.table.design.parse().map_err(|error: ogive::Error| error.to_string())?)
            .compression(if self.table.compressed { Compression::Lz4 } else { Compression::None })
            .coding(self.table.coded)
            .filter_bits_per_key(self.table.filtered.then_some(10)))
    }

    /// The options to open a table of this shape.
    pub(super) fn open_options(&self) -> TableOptions {
        TableOptions::default().fast_paths(self.fast_paths)
    }

    fn check_sorted(&self, rows: &Rows, effort: Effort) -> Result<(), String> {
        let meter = Meter::new(Arc::new(MemoryStorage::new()));
        let storage: Arc<dyn Storage> = Arc::new(meter.clone());
        let (table, report) = self.write_sorted(rows, &storage)?;
        check_table(&table, &Answers::of(rows), effort)?;
        // A writer whose index could not be proved writes the table once more: then answers are right, and a mistake is
        // there.
        let (written, file_bytes) = (meter.snapshot().writes.bytes, report.file_bytes);
        if written > file_bytes + file_bytes / 2 + (1 << 16) {
            return Err(format!("{written} bytes were written for a file of {file_bytes}: it was written twice"));
        }
        Ok(())
    }

    fn write_sorted(&self, rows: &Rows, storage: &Arc<dyn Storage>) -> Result<(Table, TableReport), String> {
        let write = || {
            let options = self.write_options().map_err(ogive::Error::input)?;
            let mut writer = TableWriter::create((Arc::clone(storage), "t"), options)?;
            let mut value = Vec::new();
            for row in 0..rows.len() {
                rows.value(row, &mut value);
                writer.append(rows.key(row), &value)?;
            }
            let report = writer.finish()?;
            Ok::<_, ogive::Error>((Table::open((Arc::clone(storage), "t"), &self.open_options())?, report))
        };
        doing("written sorted", write())
    }

    fn check_unsorted(&self, rows: &Rows, sort_bytes: u64, effort: Effort) -> Result<(), String> {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let table = self.write_unsorted(rows, sort_bytes, &storage)?;
        check_table(&table, &Answers::of(rows), effort)
    }

    fn write_unsorted(&self, rows: &Rows, sort_bytes: u64, storage: &Arc<dyn Storage>) -> Result<Table, String> {
        let scratch: Arc<dyn Storage> =
            if storage.is_object_store() { Arc::new(MemoryStorage::new()) } else { Arc::clone(storage) };
        let write = || {
            let options = self.write_options().map_err(ogive::Error::input)?;
            let target = Arc::clone(storage);
            let mut writer = SortingWriter::create_with_scratch((target, "t"), options, sort_bytes, scratch)?;
            let mut value = Vec::new();
            for row in rows.shuffled() {
                rows.value(row, &mut value);
                writer.append(rows.key(row), &value)?;
            }
            writer.finish()?;
            Table::open((Arc::clone(storage), "t"), &self.open_options())
        };
        doing("written unsorted", write())
    }
}
