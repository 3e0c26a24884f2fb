//! The sorted table writer: records in key order become blocks, and the index is written at the end.
//!
//! Memory use grows by only a few bytes a block: records pass through a look-ahead buffer of at most
//! [`LOOKAHEAD_BYTES_MAX`] (or four blocks), in which block ends are chosen where separators compress best. The file is
//! written under a temporary name and renamed when it is complete and durable.

use super::borders::WrittenSeparators;
use super::index::{self, BuiltIndex, IndexInput};
use super::index_check::IndexCheck;
use super::key_order::{order_of_any, order_of_numbers};
use super::pending::PendingRecords;
use super::plan::BlockPlan;
use super::published_file::PublishedFile;
use crate::block::checksum;
use crate::block::compress::Compression;
use crate::error::{Advice, Call, Error, Result, Setting};
use crate::io::{LocatedFile, Place, Storage};
use crate::table::block::key::KEY_BYTES_MAX;
use crate::table::block::parts::{StoredValue, VERSION_TAG_BYTES, VersionTag};
use crate::table::block::view::{BLOCK_BYTES, Layout};
use crate::table::format::counts;
use crate::table::format::locations::LocationWriter;
use crate::table::format::meta::{DataSource, TableMeta};
use crate::table::format::options::DEFAULT_BLOCK_BYTES;
use crate::table::format::options::TableWriteOptions;
use crate::table::format::value::{VALUE_BYTES_MAX, ValuePointer, ValueWriter};
use crate::table::read::reader::Table;
use crate::table::report::summary::TableReport;
use crate::table::write::sections::{FilterWriter, write_counts, write_tail};
use crate::telemetry::EVENT_TARGET;
use crate::tune::DesignRequest;
use crate::types::record_type::are_keys_only;
use ogive_model::Fence;
use ogive_model::coded::{
    CodedLayer, Effort, GROUP_CHILDREN_MAX, StringLayer, cheapest_border, fit_flexible, fit_strings, shortest_separator,
};
use std::path::PathBuf;
use std::sync::Arc;

/// Size of the look-ahead buffer: a thousand blocks of 4 KiB, four times the largest group of separators.
const LOOKAHEAD_BYTES_MAX: usize = 4 << 20;
/// Its smallest size: the blocks of a small group of separators.
const LOOKAHEAD_BYTES_MIN: usize = 256 << 10;
/// Blocks beyond a group that are considered when it is fitted.
const SPARE_BLOCKS: usize = 4;
/// Size of the look-ahead buffer when memory is limited and records arrive in batches: the largest group of separators,
/// which fits the cache of a core.
const GROUP_LOOKAHEAD_BYTES: usize = 1 << 20;
/// Smallest and largest buffer of the write-behind worker, in bytes.
const WRITE_BEHIND_BUFFER_BYTES: (usize, usize) = (16 << 10, 1 << 20);
/// Approximate number of bytes accepted at a time from a batch of records.
const BATCH_BYTES: usize = 64 << 10;

/// Writes a table from records in key order.
///
/// ```
/// use ogive::io::MemoryStorage;
/// use ogive::KeyType;
/// use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
/// use std::sync::Arc;
///
/// let storage = Arc::new(MemoryStorage::new());
/// let options = TableWriteOptions::default().key_type(KeyType::Text);
/// let mut writer = TableWriter::create((storage.clone(), "fruit"), options)?;
/// writer.append(b"apple", b"red")?;
/// writer.append(b"banana", b"yellow")?;
/// writer.finish()?;
///
/// let table = Table::open((storage, "fruit"), &TableOptions::default())?;
/// assert_eq!(table.get(b"banana")?, Some(b"yellow".to_vec()));
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Debug)]
pub struct TableWriter {
    storage: Arc<dyn Storage>,
    name: String,
    options: TableWriteOptions,
    out: PublishedFile,
    values: ValueWriter,
    layout: Layout,
    /// The block plan; `None` until enough records have been seen to choose one.
    plan: Option<BlockPlan>,
    block_bytes: usize,
    lookahead_bytes: usize,
    /// Approximate number of bytes accepted at a time from a batch of records.
    batch_bytes: usize,
    pending: PendingRecords,
    /// Key and sequence number of the last record.
    last: Option<(Vec<u8>, u64)>,
    records: u64,
    distinct: bool,
    locations: LocationWriter,
    counts: Vec<u32>,
    fences: Vec<Fence>,
    first_key_as_u64: u64,
    coded: CodedLayer,
    strings: StringLayer,
    /// Separator at the start of the next block, in tables of byte strings.
    next_string: Vec<u8>,
    check: IndexCheck,
    /// Whether each separator is stored on its own: the second attempt for a table whose index failed its check.
    has_plain_separators: bool,
    largest_block_bytes: usize,
    /// Bytes of the records of the largest coded block.
    decoded_block_bytes: usize,
    filter: FilterWriter,
}

impl TableWriter {
    /// Creates a table at a [place](Place).
    ///
    /// # Errors
    /// `Cause::Input` for invalid options; `Cause::Io` of kind `AlreadyExists` if the name is taken and
    /// `replace` is off; `Cause::NotATable` if the name belongs to a file that is not an Ogive table.
    pub fn create(place: impl Into<Place>, options: TableWriteOptions) -> Result<Self> {
        let LocatedFile { storage, name } = place.into().file()?;
        Self::create_in(storage, name, options)
    }

    fn create_in(storage: Arc<dyn Storage>, name: String, options: TableWriteOptions) -> Result<Self> {
        check_options(&options, options.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES))?;
        index::check_design(&options)?;
        let plan = BlockPlan::given(&options);
        let block_bytes = plan.map(|plan| plan.block_bytes).or(options.block_bytes).unwrap_or(DEFAULT_BLOCK_BYTES);
        let out = PublishedFile::create(storage.clone(), &name, options.replace)?;
        let layout = match (options.key_type.width(), options.value_width) {
            (Some(key), Some(value)) => Layout::Dense { key, value: value as usize },
            _ => Layout::Columns,
        };
        let path = storage.path(&name);
        let numeric = options.key_type.is_numeric();
        let mut pending = PendingRecords::new(layout, options.versioned, block_bytes as usize, numeric);
        if options.coding {
            pending.allow_coding();
        }
        Ok(Self {
            values: ValueWriter::new(out.file_id, path),
            pending,
            decoded_block_bytes: 0,
            filter: FilterWriter::new(options.filter_bits_per_key)?,
            name,
            out,
            locations: LocationWriter::new(u64::from(block_bytes)),
            block_bytes: block_bytes as usize,
            lookahead_bytes: LOOKAHEAD_BYTES_MAX,
            batch_bytes: BATCH_BYTES,
            storage,
            options,
            plan,
            layout,
            last: None,
            records: 0,
            distinct: true,
            counts: Vec::new(),
            fences: Vec::new(),
            first_key_as_u64: 0,
            coded: CodedLayer::new(),
            strings: StringLayer::new(),
            next_string: Vec::new(),
            check: IndexCheck::default(),
            has_plain_separators: false,
            largest_block_bytes: 0,
        })
    }

    /// Appends a record; keys must not decrease. In a versioned table, `value` begins with the kind byte and the
    /// sequence number, big-endian with all bits flipped; [`Self::append_version`] takes them as arguments.
    ///
    /// # Errors
    /// `Cause::Unsorted`, `Cause::KeyLength` or `Cause::ValueTooLarge` for the record; `Cause::Input`
    /// if a value of a versioned table is too short to hold kind and sequence number; storage errors.
    pub fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.options.versioned {
            let Some((tag, value)) = VersionTag::split(value) else {
                return Err(Error::input("values of a versioned table begin with a kind byte and a sequence number"));
            };
            return self.append_with(key, tag, value);
        }
        self.check_value(self.records, value)?;
        self.append_checked(key, value)
    }

    /// Appends a record without version whose value is of the type of the table.
    pub(in crate::table) fn append_checked(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check(key, value.len() as u64, 0)?;
        if self.stores_separately(value.len()) {
            let pointer = self.write_separate_value(&mut &value[..])?;
            self.align_after_value()?;
            return self.accept(key, VersionTag::default(), StoredValue::Long(pointer));
        }
        self.accept(key, VersionTag::default(), StoredValue::Inline(value))
    }

    /// Appends a batch of consecutive dense records, each a key and its value, in key order.
    ///
    /// # Errors
    /// As [`Self::append`]; `Cause::Input` if records are not of fixed width, are versioned, or the last
    /// one is truncated.
    pub(crate) fn append_dense(&mut self, records: &[u8]) -> Result<()> {
        let Layout::Dense { key, value } = self.layout else { return Err(self.not_dense()) };
        let width = key + value;
        if self.options.versioned || !records.len().is_multiple_of(width) {
            return Err(self.not_dense());
        }
        for piece in records.chunks((self.batch_bytes / width).max(1) * width) {
            self.check_dense(piece, key, width)?;
            self.pending.push_dense(piece);
            self.note_accepted((piece.len() / width) as u64);
            self.drain_some()?;
        }
        Ok(())
    }

    fn not_dense(&self) -> Error {
        let path = self.path();
        Error::input(format!("{} takes complete records of fixed width, without versions", path.display()))
    }

    /// Rejects records whose keys decrease; the key is the first `key` bytes of each `width`.
    fn check_dense(&mut self, records: &[u8], key: usize, width: usize) -> Result<()> {
        let (last, _) = self.last.get_or_insert_with(|| (records[..key].to_vec(), 0));
        let first_ever = self.records == 0;
        let order =
            if key == 8 { order_of_numbers(last, records, width) } else { order_of_any(last, records, key, width) };
        if let Some(fallen) = order.falls_at {
            let record = self.records + fallen as u64;
            return Err(Error::unsorted(self.storage.path(&self.name), record));
        }
        // The very first record was compared with itself.
        self.distinct &= order.repeats == u64::from(first_ever);
        last.clear();
        last.extend_from_slice(&records[records.len() - width..][..key]);
        Ok(())
    }

    pub(in crate::table) fn append_with(&mut self, key: &[u8], tag: VersionTag, value: &[u8]) -> Result<()> {
        self.check(key, (VERSION_TAG_BYTES + value.len()) as u64, tag.sequence)?;
        self.accept(key, tag, StoredValue::Inline(value))
    }

    /// Appends a record whose value is read from a stream to its end, up to 1 GiB.
    ///
    /// # Errors
    /// As [`Self::append`]; [`Cause::Input`](crate::Cause::Input) in a table of dense or versioned records.
    pub fn append_stream(&mut self, key: &[u8], value: &mut dyn std::io::Read) -> Result<()> {
        if !self.takes_streams() {
            return Err(Error::input("values of fixed width or with versions cannot be streamed")
                .advise(Advice::Use(Call::AppendWhole)));
        }
        self.check(key, 0, 0)?;
        let pointer = self.write_separate_value(value)?;
        self.align_after_value()?;
        self.accept(key, VersionTag::default(), StoredValue::Long(pointer))
    }

    /// Sets the number of records to expect, unless the caller has set it; improves the choice of a block size.
    pub(in crate::table) fn expect(&mut self, records: u64) {
        self.options.tuning.expected_records.get_or_insert(records);
    }

    /// Whether a value of this length is stored outside the blocks.
    pub(in crate::table) fn stores_separately(&self, value_bytes: usize) -> bool {
        self.takes_streams() && value_bytes > (self.block_bytes / 2).max(64)
    }

    /// Whether values can be stored outside the blocks at all.
    pub(in crate::table) fn takes_streams(&self) -> bool {
        self.layout == Layout::Columns && !self.options.versioned
    }

    /// Writes a value at the end of the file; a record that points to it may follow at any time.
    pub(in crate::table) fn write_separate_value(&mut self, value: &mut dyn std::io::Read) -> Result<ValuePointer> {
        let (values, out) = (&mut self.values, &mut self.out);
        let written = values.write_stream(out.offset(), value, &mut |bytes| out.put(bytes));
        if written.is_err() {
            // Part of the value may be in the file, with no record that points to it.
            self.out.poison();
        }
        written
    }

    /// Appends a record whose value was written by [`Self::write_separate_value`].
    pub(in crate::table) fn append_separate_value(&mut self, key: &[u8], pointer: ValuePointer) -> Result<()> {
        self.check(key, pointer.length, 0)?;
        self.accept(key, VersionTag::default(), StoredValue::Long(pointer))
    }

    /// Appends a version of a record; the versions of one key are ordered by sequence number, largest first.
    ///
    /// # Errors
    /// As [`Self::append`]; [`Cause::Input`](crate::Cause::Input) in a table that is not versioned.
    pub fn append_version(&mut self, key: &[u8], tag: u8, sequence: u64, value: &[u8]) -> Result<()> {
        if !self.options.versioned {
            return Err(Error::input("this table is not versioned").advise(Advice::Use(Call::CreateVersioned)));
        }
        self.append_with(key, VersionTag { kind: tag, sequence }, value)
    }

    /// Rejects a value that is not of the stated type; `record` is its number, for messages.
    pub(in crate::table) fn check_value(&self, record: u64, value: &[u8]) -> Result<()> {
        let value_type = &self.options.value_type;
        let is_of_type = match value_type.is_bytes() {
            true => value.is_empty() || !are_keys_only(&self.options.key_columns),
            false => value_type.accepts(value),
        };
        if is_of_type {
            return Ok(());
        }
        let (path, bytes) = (self.storage.path(&self.name), value.len());
        let types = self.options.types();
        Err(Error::input(format!(
            "record {record} of {} has a value of {bytes} bytes that is not of type {types}",
            path.display()
        )))
    }

    /// Rejects a record that no position in the table can hold; `record` is its number, for messages.
    pub(in crate::table) fn check_shape(&self, record: u64, key: &[u8], value_bytes: u64) -> Result<()> {
        let path = || self.storage.path(&self.name);
        let wrong = |detail: String| Error::key_length(path(), key.len() as u64, detail);
        match self.options.key_type.width() {
            Some(width) if key.len() != width => {
                return Err(wrong(format!("keys of type {} have {width} bytes", self.options.key_type)));
            }
            _ if key.len() > KEY_BYTES_MAX => return Err(wrong(format!("keys have at most {KEY_BYTES_MAX} bytes"))),
            _ => {}
        }
        if value_bytes > VALUE_BYTES_MAX {
            return Err(Error::value_too_large(path(), value_bytes, VALUE_BYTES_MAX));
        }
        if let Some(width) = self.options.value_width.filter(|&width| u64::from(width) != value_bytes) {
            return Err(Error::input(format!(
                "record {record} of {} has a value of {value_bytes} bytes, but the table's values have {width} bytes",
                path().display()
            )));
        }
        Ok(())
    }

    fn check(&mut self, key: &[u8], value_bytes: u64, sequence: u64) -> Result<()> {
        self.check_shape(self.records, key, value_bytes)?;
        if let Some((last, last_sequence)) = &mut self.last {
            let keys = key.cmp(last);
            // The largest sequence number comes first; the kind does not affect the order.
            match keys.then((*last_sequence).cmp(&sequence)) {
                std::cmp::Ordering::Less => {
                    let path = self.storage.path(&self.name);
                    return Err(Error::unsorted(path, self.records));
                }
                _ => self.distinct &= keys != std::cmp::Ordering::Equal,
            }
            last.clear();
            last.extend_from_slice(key);
            *last_sequence = sequence;
        } else {
            self.last = Some((key.to_vec(), sequence));
        }
        Ok(())
    }

    fn accept(&mut self, key: &[u8], tag: VersionTag, value: StoredValue<'_>) -> Result<()> {
        self.pending.push(key, tag, value);
        self.note_accepted(1);
        self.drain_some()
    }

    /// Counts records that were just added to the look-ahead buffer.
    fn note_accepted(&mut self, records: u64) {
        if self.records == 0 && records > 0 && self.options.key_type.is_numeric() {
            self.first_key_as_u64 = self.pending.key_as_u64_of(0);
        }
        self.records += records;
    }

    /// Writes blocks while the look-ahead buffer is over its limit.
    fn drain_some(&mut self) -> Result<()> {
        let lookahead = self.lookahead_bytes.max(4 * self.block_bytes);
        if self.pending.load_from(0) < 2 * lookahead {
            return Ok(());
        }
        // Dense records are kept for the next group only: moving them costs more than a longer look-ahead gains.
        let group = (GROUP_CHILDREN_MAX + SPARE_BLOCKS) * self.block_bytes;
        let has_groups = self.layout == Layout::Columns || self.pending.columns.is_some();
        self.drain(if has_groups { lookahead } else { lookahead.min(group) })
    }

    /// Aligns a block that follows a long value, so that it can be read directly.
    pub(in crate::table) fn align_after_value(&mut self) -> Result<()> {
        let page = (self.block_bytes as u64).min(4096);
        self.out.align(page)
    }

    /// Chooses the block plan, if that is still open.
    fn decide(&mut self, all_seen: bool) {
        if self.plan.is_none() {
            let pending = &self.pending;
            let (mean, overhead) = (pending.mean_record_bytes(), pending.overhead());
            let plan = BlockPlan::from_beginning(&pending.keys_as_u64(), mean, overhead, all_seen, &self.options);
            self.block_bytes = plan.block_bytes as usize;
            self.pending.set_block_bytes(self.block_bytes);
            self.locations.set_block_bytes(u64::from(plan.block_bytes));
            self.plan = Some(plan);
        }
    }

    /// Writes blocks until at most `keep` bytes of records are pending; 0 writes all.
    fn drain(&mut self, keep: usize) -> Result<()> {
        self.decide(keep == 0);
        if keep == 0 {
            self.pending.complete();
        }
        self.pending.fit_columns();
        let mut begin = 0;
        while begin < self.pending.reach() && (keep == 0 || self.pending.load_from(begin) > keep) {
            begin = self.write_group(begin)?;
        }
        self.pending.discard(begin);
        Ok(())
    }

    /// Writes the blocks of one separator group from record `begin` on; returns the first record after it.
    fn write_group(&mut self, begin: usize) -> Result<usize> {
        let most = self.most_in_group(begin);
        let begins = if !self.options.key_type.is_numeric() {
            let group = fit_strings(std::mem::take(&mut self.next_string), begin, &self.pending, most);
            let begins = group.begins.clone();
            self.strings.push(group);
            self.check.strings(&self.strings, &begins, &self.pending);
            begins
        } else if self.plan.is_some_and(|plan| plan.ends_by_separator)
            // After the greatest number there are only its repeats, which no separator distinguishes.
            && let Some(start) = self.fences.last().map_or(Some(0), |fence| fence.start())
        {
            let group = fit_flexible(start, begin, &self.pending, most, Effort::Full);
            self.coded.push(group.header, group.residuals);
            let pending = &self.pending;
            self.check.numbers(&self.coded, start, &group.begins, |record| pending.border(record));
            group.begins
        } else {
            Vec::new()
        };
        let mut at = begin;
        for end in begins {
            self.write_block(at, end)?;
            at = end;
        }
        let end = self.end_of_group(at);
        self.write_block(at, end)?;
        Ok(end)
    }

    /// Largest number of blocks in the group that begins at record `begin`: as many as the pending records may fill,
    /// however small they are stored, so that the last block does not end early for lack of records.
    fn most_in_group(&self, begin: usize) -> usize {
        if self.has_plain_separators {
            return 1;
        }
        let most = (self.lookahead_bytes / self.block_bytes).clamp(2, GROUP_CHILDREN_MAX);
        match self.layout {
            Layout::Dense { .. } if self.pending.columns.is_none() => most,
            _ => {
                let block = self.pending.full_end(begin) - begin;
                ((self.pending.len() - begin) / block.max(1)).saturating_sub(SPARE_BLOCKS).clamp(2, most)
            }
        }
    }

    /// End of the last block of a group: for byte strings the position with the shortest separator, else where the
    /// block is full.
    fn end_of_group(&mut self, at: usize) -> usize {
        if self.options.key_type.is_numeric() {
            return self.pending.full_end(at);
        }
        let end = match ogive_model::coded::StringCuts::ends(&self.pending, at) {
            Some((first, last)) => cheapest_border(&[], first, last, &self.pending).0,
            None => self.pending.full_end(at),
        };
        if end < self.pending.len() {
            let (low, high) = (self.pending.record_key(end - 1), self.pending.record_key(end));
            self.next_string = shortest_separator(low, high);
            self.check.next_string(&self.next_string, low, high);
        }
        end
    }

    fn write_block(&mut self, begin: usize, end: usize) -> Result<()> {
        let (file_id, offset) = (self.out.file_id, self.out.offset());
        let (pending, compression) = (&mut self.pending, &self.options.compression);
        let (raw_bytes, stored_bytes, is_coded) = self.out.put_with(|out| {
            let start = out.len();
            let is_coded = pending.lay_out(begin, end, out);
            let raw_bytes = out.len() - start;
            if let Some(packed) = pack(compression, &out[start..]) {
                out.truncate(start);
                out.extend_from_slice(&packed);
            }
            checksum::seal(file_id, offset, &mut out[start..]);
            (raw_bytes, out.len() - start, is_coded)
        })?;
        if is_coded {
            let decoded_bytes = self.pending.bytes_before(end) - self.pending.bytes_before(begin);
            self.decoded_block_bytes = self.decoded_block_bytes.max(decoded_bytes).max(1);
        }
        self.largest_block_bytes = self.largest_block_bytes.max(raw_bytes);
        self.locations.push(offset, stored_bytes);
        self.counts.push((end - begin) as u32);
        if self.options.key_type.is_numeric() && end < self.pending.len() {
            if !index::needs_fences(&self.options) {
                // The last fence is the start of the next group.
                self.fences.clear();
            }
            self.fences.push(self.pending.border(end));
        }
        if self.options.filter_bits_per_key.is_some() {
            (begin..end).for_each(|record| self.filter.add(self.pending.record_key(record)));
        }
        self.filter.end_block()
    }

    /// Writes all pending records, tunes and writes the index, checks that it leads to every block, syncs the file, and
    /// gives it its name. A table whose index fails its check is rewritten once with plain separators.
    ///
    /// # Errors
    /// Storage errors; `Cause::Bug` if the plain index fails its check too. In either case no file is left under
    /// the name.
    pub fn finish(mut self) -> Result<TableReport> {
        self.drain(0)?;
        let numeric = self.options.key_type.is_numeric();
        self.pending = PendingRecords::new(self.layout, self.options.versioned, self.block_bytes, numeric);
        let (locations, location_groups) = self.locations.encode();
        let built = self.design(locations.len() as u64);
        let defect = self.check.defect().map(str::to_owned);
        if let Some(defect) = defect.or_else(|| built.defect(self.locations.blocks(), self.check.digest())) {
            return self.rewrite_with_plain_separators(defect, (&locations, location_groups));
        }
        let meta = self.write_rest(built, (&locations, location_groups))?;
        self.out.publish()?;
        Ok(TableReport::new(&meta, self.out.offset()))
    }

    fn design(&mut self, location_bytes: u64) -> BuiltIndex {
        let bottom = match self.options.key_type.is_numeric() {
            true => WrittenSeparators::Numbers {
                fences: std::mem::take(&mut self.fences),
                first: self.first_key_as_u64,
                coded: std::mem::take(&mut self.coded),
            },
            false => WrittenSeparators::Strings(std::mem::take(&mut self.strings)),
        };
        let input = IndexInput {
            bottom,
            data_bytes: self.locations.end(),
            stored_block_bytes: self.locations.stored_bytes(),
            blocks: self.locations.blocks(),
            records: self.records,
            location_bytes,
            largest_block_bytes: self.largest_block_bytes as u64,
        };
        index::build(input, &self.options)
    }

    /// Writes everything after the blocks: index, counts, filter and tail.
    fn write_rest(&mut self, built: BuiltIndex, (locations, location_groups): (&[u8], u64)) -> Result<TableMeta> {
        self.out.align(4096)?;
        let index = built.write(&mut self.out)?;
        let counts = write_counts(&mut self.out, &self.counts)?;
        let filter = self.filter.write(&mut self.out)?;
        let mut properties = std::mem::take(&mut self.options.properties);
        index.add_objective(&mut properties, &self.options, locations.len() as u64);
        self.options.properties = properties.clone();
        let mut meta = TableMeta {
            record_type: self.options.types(),
            value_width: match self.layout {
                Layout::Dense { value, .. } => Some(value as u64),
                Layout::Columns => None,
            },
            versioned: self.options.versioned,
            distinct: self.distinct,
            compression: self.options.compression.name().to_owned(),
            records: self.records,
            blocks: self.locations.blocks(),
            block_bytes: self.block_bytes as u64,
            largest_block_bytes: self.largest_block_bytes as u64,
            decoded_block_bytes: self.decoded_block_bytes as u64,
            data_bytes: self.locations.end(),
            source: DataSource::Own,
            layers: index.layers.clone(),
            location_bytes: locations.len() as u64,
            location_groups,
            per_block: counts::even_count(&self.counts).unwrap_or(0),
            counts,
            filter,
            mean_read_bytes: index.mean_read_bytes,
            max_read_bytes: index.max_read_bytes,
            tuned_for: self.options.profile.name().to_owned(),
            properties,
        };
        index.add_compared(&mut meta, locations);
        write_tail(&mut self.out, &index.root, locations, &meta)?;
        Ok(meta)
    }

    /// Ends the file without an index and rewrites the table from a scan of it, with plain separators; `defect` says
    /// what is wrong with the index.
    fn rewrite_with_plain_separators(mut self, defect: String, locations: (&[u8], u64)) -> Result<TableReport> {
        let internal = |detail| Error::bug(self.storage.path(&self.name), detail);
        if self.has_plain_separators {
            return Err(internal(format!("{defect}, even with plain separators")));
        }
        let path = self.storage.path(&self.name);
        tracing::warn!(
            target: EVENT_TARGET, path = %path.display(), defect,
            "the index fails its check: writing the table again"
        );
        let failed = internal(defect.clone());
        let Some(scanned) = self.end_without_index(locations)? else {
            // An object cannot be read before it is published, and a table without index is not.
            return Err(failed);
        };
        let mut options = self.options.clone();
        if options.key_type.is_numeric() {
            options.design = DesignRequest::Btree;
        }
        options.block_bytes = u32::try_from(self.block_bytes).ok();
        let mut plain = Self::create_in(self.storage.clone(), self.name.clone(), options)?;
        (plain.has_plain_separators, plain.lookahead_bytes) = (true, self.lookahead_bytes);
        plain.append_scanned(&scanned)?;
        if plain.records != self.records {
            return Err(failed);
        }
        plain.finish()
    }

    /// Ends the file without an index and opens it for a scan; `None` if it is an object, which cannot be read yet.
    fn end_without_index(&mut self, locations: (&[u8], u64)) -> Result<Option<Table>> {
        if self.storage.is_object_store() {
            return Ok(None);
        }
        self.write_rest(BuiltIndex::None { data_bytes: self.locations.end() }, locations)?;
        self.out.reopen()
    }
}

/// The compressed form of a block, if it is smaller: compressed body, original body length, trailer.
fn pack(compression: &Compression, raw: &[u8]) -> Option<Vec<u8>> {
    let (body, trailer) = raw.split_at(raw.len() - crate::table::block::view::TRAILER_BYTES);
    let mut packed = Vec::new();
    let codec = compression.compress(body, &mut packed)?;
    packed.extend_from_slice(&(body.len() as u32).to_le_bytes());
    // Form and codec share a byte.
    packed.push(codec | trailer[0]);
    packed.extend_from_slice(&trailer[1..]);
    Some(packed)
}

/// Rejects block sizes that the format does not allow.
pub(in crate::table) fn check_block_bytes(block_bytes: u32) -> Result<()> {
    if !BLOCK_BYTES.contains(&block_bytes) || !block_bytes.is_power_of_two() {
        return Err(Error::input(format!(
            "blocks of {block_bytes} bytes: the size is a power of two from {} to {}",
            BLOCK_BYTES.start(),
            BLOCK_BYTES.end()
        )));
    }
    Ok(())
}

fn check_options(options: &TableWriteOptions, block_bytes: u32) -> Result<()> {
    check_block_bytes(block_bytes)?;
    options.types().check()?;
    let record = options.key_type.width().unwrap_or(0) + options.value_width.unwrap_or(0) as usize;
    if options.key_type.width().is_some()
        && record + crate::table::block::view::TRAILER_BYTES > block_bytes as usize
        && options.value_width.is_some()
    {
        let error = Error::input(format!("a record of {record} bytes does not fit a block of {block_bytes}"));
        return Err(error.advise(Advice::Raise { option: Setting::BlockBytes, to: None }));
    }
    if options.versioned && options.value_width.is_some_and(|width| (width as usize) < VERSION_TAG_BYTES) {
        return Err(Error::input(format!("versioned values have at least {VERSION_TAG_BYTES} bytes")));
    }
    Ok(())
}

/// Accessors for messages.
impl TableWriter {
    /// The full path of the table that is being written.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.storage.path(&self.name)
    }
}

/// Accounting and memory limits, for stores.
impl TableWriter {
    /// Approximate length of the file without its index: bytes written, and bytes of pending records.
    pub(crate) fn bytes_so_far(&self) -> u64 {
        self.out.offset() + self.pending.byte_len() as u64
    }

    /// Limits the writer to about `bytes` of memory. Must be called before the first write.
    pub(crate) fn limit_memory(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        // Pending records and their bookkeeping take up to twice as much.
        self.lookahead_bytes = (bytes / 4).clamp(LOOKAHEAD_BYTES_MIN, LOOKAHEAD_BYTES_MAX);
        self.out.limit_buffer(bytes / 8);
    }

    /// Limits the writer to about `bytes` of memory, apart from what grows with the number of blocks, and moves writing
    /// to a worker thread that syncs every `sync_every_bytes`. Must be called before the first write.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io) if the system cannot start a thread.
    pub(crate) fn write_behind(&mut self, bytes: u64, sync_every_bytes: u64) -> Result<()> {
        let bytes = self.limit_working_memory(bytes);
        self.out.write_behind(bytes / 2 / self.out.buffer_capacity(), sync_every_bytes);
        Ok(())
    }

    /// As [`Self::write_behind`], but without the worker; returns the memory that it would use.
    pub(crate) fn limit_working_memory(&mut self, bytes: u64) -> usize {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        // Bookkeeping for records of varying length may take several times as much as the records.
        let part = if self.layout == Layout::Columns { 64 } else { 8 };
        let least = 4 * self.block_bytes;
        self.lookahead_bytes = (bytes / part).clamp(least.min(GROUP_LOOKAHEAD_BYTES), GROUP_LOOKAHEAD_BYTES);
        let lookahead = self.lookahead_bytes.max(least);
        self.batch_bytes = (lookahead / 4).min(BATCH_BYTES);
        self.pending.reserve(2 * lookahead + self.batch_bytes);
        let buffer = (bytes / 16).clamp(WRITE_BEHIND_BUFFER_BYTES.0, WRITE_BEHIND_BUFFER_BYTES.1);
        self.out.set_buffer(buffer, (buffer / 4).max(self.block_bytes));
        bytes
    }

    /// Time spent waiting for the worker, in microseconds.
    pub(crate) fn waited_us(&self) -> f64 {
        self.out.waited_us()
    }

    /// Approximate memory that grows with the number of blocks: the input of the index builder, and the stored index at
    /// the end.
    pub(crate) fn growing_bytes(&self) -> u64 {
        let lists = self.counts.capacity() * 4 + self.fences.capacity() * size_of::<Fence>();
        let separators = self.coded.memory_bytes() + self.strings.memory_bytes();
        (2 * (lists + separators)) as u64 + self.locations.memory_bytes() + self.filter.memory_bytes()
    }

    /// Adds a property after the table was created.
    pub(crate) fn set_property(&mut self, name: &str, value: Vec<u8>) {
        self.options.properties.push((name.to_owned(), value));
    }
}

/// Fault injection for tests of the writer's own checks.
#[cfg(test)]
impl TableWriter {
    /// Writes all pending records, then lets `change` modify the separators.
    pub(in crate::table) fn corrupt_separators(&mut self, change: impl FnOnce(&mut StringLayer, &mut CodedLayer)) {
        self.drain(0).unwrap();
        change(&mut self.strings, &mut self.coded);
    }

    /// Marks the table as one that is written for the second time.
    pub(in crate::table) fn take_for_second_try(&mut self) {
        self.has_plain_separators = true;
    }
}
