//! The sorted table writer: records in key order become blocks, and the index is written at the end.
//!
//! Memory does not grow with the table but for a few bytes a block: records pass through a look-ahead of at most
//! [`LOOKAHEAD_BYTES`] (or four blocks), in which block ends are chosen where separators code best. The file grows under
//! a temporary name, and gets its own when it is complete and durable.

use super::block::{BLOCK_BYTES, Layout, Stored, TAG_BYTES, Tag};
use super::counts;
use super::format::{Meta, Source};
use super::index::{self, Bottom, BuiltIndex, IndexInput};
use super::key::MAX_KEY_BYTES;
use super::locations::LocationWriter;
use super::options::WriteOptions;
use super::output::Output;
use super::pending::Pending;
use super::plan::{DEFAULT_BLOCK_BYTES, Plan};
use super::proof::Proof;
use super::report::TableReport;
use super::sections::{FilterUnits, write_counts, write_tail};
use super::value::{MAX_VALUE_BYTES, ValuePointer, ValueWriter};
use crate::block::checksum;
use crate::block::compress::Compression;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::tune::DesignRequest;
use ogive_model::Fence;
use ogive_model::coded::{
    CodedLayer, Effort, MAX_GROUP, StringLayer, cheapest_border, fit_flexible, fit_strings, shortest_separator,
};
use std::path::PathBuf;
use std::sync::Arc;

/// Records looked ahead over, in bytes: a thousand blocks of 4 KiB, four times what one group of separators takes.
const LOOKAHEAD_BYTES: usize = 4 << 20;
/// It is at least so many: blocks for a small group of separators.
const LEAST_LOOKAHEAD_BYTES: usize = 256 << 10;
/// Blocks beyond a group that are looked at when it is fitted.
const SPARE_BLOCKS: usize = 4;
/// Looked ahead over where memory is limited and records come in great numbers, in bytes: the longest group of separators, and no more than
/// the cache of a core holds.
const GROUP_LOOKAHEAD_BYTES: usize = 1 << 20;
/// Least and greatest size of a buffer that a worker writes, in bytes.
const BEHIND_BUFFER_BYTES: (usize, usize) = (16 << 10, 1 << 20);
/// Of records that come many at once, at most about so many bytes are taken at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Writes a table from records in key order.
///
/// ```
/// use ogive::io::MemoryStorage;
/// use ogive::table::{KeyType, OpenOptions, Table, TableWriter, WriteOptions};
/// use std::sync::Arc;
///
/// let storage = Arc::new(MemoryStorage::new());
/// let options = WriteOptions { key_type: KeyType::Text, ..WriteOptions::default() };
/// let mut writer = TableWriter::create(storage.clone(), "fruit", options)?;
/// writer.append(b"apple", b"red")?;
/// writer.append(b"banana", b"yellow")?;
/// writer.finish()?;
///
/// let table = Table::open(storage, "fruit", &OpenOptions::default())?;
/// assert_eq!(table.get(b"banana")?, Some(b"yellow".to_vec()));
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Debug)]
pub struct TableWriter {
    storage: Arc<dyn Storage>,
    name: String,
    options: WriteOptions,
    out: Output,
    values: ValueWriter,
    layout: Layout,
    /// How blocks are cut; `None` as long as records must be seen first.
    plan: Option<Plan>,
    block_bytes: usize,
    lookahead_bytes: usize,
    /// Of records that come many at once, about so many bytes are taken at a time.
    piece_bytes: usize,
    pending: Pending,
    /// Key of the last record, and its suffix where there is one.
    last: Option<(Vec<u8>, u64)>,
    records: u64,
    distinct: bool,
    locations: LocationWriter,
    counts: Vec<u32>,
    fences: Vec<Fence>,
    first_coordinate: u64,
    coded: CodedLayer,
    strings: StringLayer,
    /// Separator of the block that comes next, in tables of byte strings.
    next_string: Vec<u8>,
    proof: Proof,
    /// Whether each separator stands for itself: the second try of a table whose index could not be proved.
    is_plain: bool,
    largest_block_bytes: usize,
    filter: FilterUnits,
}

impl TableWriter {
    /// Begins a table named `name`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for impossible options; [`Error::Io`] of kind `AlreadyExists` when the name is taken and
    /// `replace` is off; [`Error::NotATable`] when it is taken by a file that is no Ogive table.
    pub fn create(storage: Arc<dyn Storage>, name: &str, options: WriteOptions) -> Result<Self> {
        check_options(&options, options.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES))?;
        index::check_design(&options)?;
        let plan = Plan::given(&options);
        let block_bytes = plan.map_or(DEFAULT_BLOCK_BYTES, |plan| plan.block_bytes);
        let out = Output::create(storage.clone(), name, options.replace)?;
        let layout = match (options.key_type.width(), options.value_width) {
            (Some(key), Some(value)) => Layout::Dense { key, value: value as usize },
            _ => Layout::Slotted,
        };
        let path = storage.path(name);
        Ok(Self {
            values: ValueWriter::new(out.file_id, path),
            pending: Pending::new(layout, options.tagged, block_bytes as usize, options.key_type.is_numeric()),
            filter: FilterUnits::new(options.filter_bits_per_key)?,
            name: name.to_owned(),
            out,
            locations: LocationWriter::new(u64::from(block_bytes)),
            block_bytes: block_bytes as usize,
            lookahead_bytes: LOOKAHEAD_BYTES,
            piece_bytes: PIECE_BYTES,
            storage,
            options,
            plan,
            layout,
            last: None,
            records: 0,
            distinct: true,
            counts: Vec::new(),
            fences: Vec::new(),
            first_coordinate: 0,
            coded: CodedLayer::new(),
            strings: StringLayer::new(),
            next_string: Vec::new(),
            proof: Proof::default(),
            is_plain: false,
            largest_block_bytes: 0,
        })
    }

    /// Appends a record; keys must not fall. In a table with tags, tag and suffix are the first nine bytes of the value, the suffix
    /// big-endian with all bits flipped; [`Self::append_tagged`] takes them apart.
    ///
    /// # Errors
    /// [`Error::Unsorted`], [`Error::KeyLength`], [`Error::ValueTooLarge`], [`Error::InvalidArgument`] for a value without tag in a
    /// table with tags, and whatever the storage reports.
    pub fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.options.tagged {
            let Some((tag, value)) = Tag::split(value) else {
                return Err(Error::InvalidArgument("values of a table with tags begin with a tag and a suffix".into()));
            };
            return self.append_with(key, tag, value);
        }
        self.check(key, value.len() as u64, 0)?;
        if self.keeps_apart(value.len()) {
            let pointer = self.write_apart(&mut &value[..])?;
            self.align_behind_value()?;
            return self.accept(key, Tag::default(), Stored::Long(pointer));
        }
        self.accept(key, Tag::default(), Stored::Inline(value))
    }

    /// Appends records of one width and no tag that lie one behind the other, each a key and its value, in the order of their keys.
    ///
    /// # Errors
    /// As [`Self::append`]; [`Error::InvalidArgument`] where records have no one width, or have tags, or where the last is cut off.
    pub(crate) fn append_dense(&mut self, records: &[u8]) -> Result<()> {
        let Layout::Dense { key, value } = self.layout else { return Err(self.not_dense()) };
        let width = key + value;
        if self.options.tagged || !records.len().is_multiple_of(width) {
            return Err(self.not_dense());
        }
        for piece in records.chunks((self.piece_bytes / width).max(1) * width) {
            self.check_dense(piece, key, width)?;
            self.pending.push_dense(piece);
            self.note_accepted((piece.len() / width) as u64);
            self.drain_some()?;
        }
        Ok(())
    }

    fn not_dense(&self) -> Error {
        let path = self.path();
        Error::InvalidArgument(format!("whole records of one width, without tags, are needed for {}", path.display()))
    }

    /// Refuses records whose keys fall; `key` bytes of each `width` are its key.
    fn check_dense(&mut self, records: &[u8], key: usize, width: usize) -> Result<()> {
        let (last, _) = self.last.get_or_insert_with(|| (records[..key].to_vec(), 0));
        let first_ever = self.records == 0;
        let order =
            if key == 8 { order_of_numbers(last, records, width) } else { order_of_any(last, records, key, width) };
        if let Some(fallen) = order.falls_at {
            let record = self.records + fallen as u64;
            return Err(Error::Unsorted { path: self.storage.path(&self.name), record });
        }
        // The very first record was compared with itself.
        self.distinct &= order.repeats == u64::from(first_ever);
        last.clear();
        last.extend_from_slice(&records[records.len() - width..][..key]);
        Ok(())
    }

    pub(super) fn append_with(&mut self, key: &[u8], tag: Tag, value: &[u8]) -> Result<()> {
        self.check(key, (TAG_BYTES + value.len()) as u64, tag.suffix)?;
        self.accept(key, tag, Stored::Inline(value))
    }

    /// Appends a record whose value is read from a stream to its end, up to 1 GiB.
    ///
    /// # Errors
    /// As [`Self::append`]; [`Error::InvalidArgument`] in a table of dense or tagged records.
    pub fn append_stream(&mut self, key: &[u8], value: &mut dyn std::io::Read) -> Result<()> {
        if !self.takes_streams() {
            return Err(Error::InvalidArgument(
                "values of fixed width, or with tags, are not streamed; use append".into(),
            ));
        }
        self.check(key, 0, 0)?;
        let pointer = self.write_apart(value)?;
        self.align_behind_value()?;
        self.accept(key, Tag::default(), Stored::Long(pointer))
    }

    /// Learns how many records will come, unless the caller has said so; it helps to choose the size of blocks.
    pub(super) fn expect(&mut self, records: u64) {
        self.options.expected_records.get_or_insert(records);
    }

    /// Whether a value of this length lies outside the blocks.
    pub(super) fn keeps_apart(&self, value_bytes: usize) -> bool {
        self.takes_streams() && value_bytes > (self.block_bytes / 2).max(64)
    }

    /// Whether values may lie outside the blocks at all.
    pub(super) fn takes_streams(&self) -> bool {
        self.layout == Layout::Slotted && !self.options.tagged
    }

    /// Writes a value where the file ends now; a record that points to it may follow at any time.
    pub(super) fn write_apart(&mut self, value: &mut dyn std::io::Read) -> Result<ValuePointer> {
        let (values, out) = (&mut self.values, &mut self.out);
        let written = values.write_stream(out.offset(), value, &mut |bytes| out.put(bytes));
        if written.is_err() {
            // There may be chunks in the file that nothing leads to.
            self.out.poison();
        }
        written
    }

    /// Appends a record whose value was written by [`Self::write_apart`].
    pub(super) fn append_apart(&mut self, key: &[u8], pointer: ValuePointer) -> Result<()> {
        self.check(key, pointer.length, 0)?;
        self.accept(key, Tag::default(), Stored::Long(pointer))
    }

    /// Appends a record with a tag byte and a suffix; records of one key are ordered by suffix, largest first.
    ///
    /// # Errors
    /// As [`Self::append`]; [`Error::InvalidArgument`] in a table that was not created with `tagged`.
    pub fn append_tagged(&mut self, key: &[u8], tag: u8, suffix: u64, value: &[u8]) -> Result<()> {
        if !self.options.tagged {
            return Err(Error::InvalidArgument("this table takes no tags; create it with `tagged`".into()));
        }
        self.append_with(key, Tag { kind: tag, suffix }, value)
    }

    /// Refuses a record that the table cannot take wherever it stood; `record` is its number, for messages.
    pub(super) fn check_shape(&self, record: u64, key: &[u8], value_bytes: u64) -> Result<()> {
        let path = || self.storage.path(&self.name);
        let wrong = |detail: String| Error::KeyLength { path: path(), length: key.len() as u64, detail };
        match self.options.key_type.width() {
            Some(width) if key.len() != width => {
                return Err(wrong(format!("keys of type {} have {width} bytes", self.options.key_type)));
            }
            _ if key.len() > MAX_KEY_BYTES => return Err(wrong(format!("keys have at most {MAX_KEY_BYTES} bytes"))),
            _ => {}
        }
        if value_bytes > MAX_VALUE_BYTES {
            return Err(Error::ValueTooLarge { path: path(), length: value_bytes, limit: MAX_VALUE_BYTES });
        }
        if let Some(width) = self.options.value_width.filter(|&width| u64::from(width) != value_bytes) {
            return Err(Error::InvalidArgument(format!(
                "record {record} of {} has a value of {value_bytes} bytes; this table was created for values of {width}",
                path().display()
            )));
        }
        Ok(())
    }

    fn check(&mut self, key: &[u8], value_bytes: u64, suffix: u64) -> Result<()> {
        self.check_shape(self.records, key, value_bytes)?;
        if let Some((last, last_suffix)) = &mut self.last {
            let keys = key.cmp(last);
            // The largest suffix comes first; the tag does not take part.
            match keys.then((*last_suffix).cmp(&suffix)) {
                std::cmp::Ordering::Less => {
                    let path = self.storage.path(&self.name);
                    return Err(Error::Unsorted { path, record: self.records });
                }
                _ => self.distinct &= keys != std::cmp::Ordering::Equal,
            }
            last.clear();
            last.extend_from_slice(key);
            *last_suffix = suffix;
        } else {
            self.last = Some((key.to_vec(), suffix));
        }
        Ok(())
    }

    fn accept(&mut self, key: &[u8], tag: Tag, value: Stored<'_>) -> Result<()> {
        self.pending.push(key, tag, value);
        self.note_accepted(1);
        self.drain_some()
    }

    /// Counts records that have just become pending.
    fn note_accepted(&mut self, records: u64) {
        if self.records == 0 && records > 0 && self.options.key_type.is_numeric() {
            self.first_coordinate = self.pending.coordinate_of(0);
        }
        self.records += records;
    }

    /// Writes blocks where more records wait than need be.
    fn drain_some(&mut self) -> Result<()> {
        let lookahead = self.lookahead_bytes.max(4 * self.block_bytes);
        if self.pending.load_from(0) < 2 * lookahead {
            return Ok(());
        }
        // Records of one width are kept only for the group that comes next: moving them costs more than what is gained.
        let group = (MAX_GROUP + SPARE_BLOCKS) * self.block_bytes;
        self.drain(if self.layout == Layout::Slotted { lookahead } else { lookahead.min(group) })
    }

    /// Blocks that lie between values begin where a direct read may begin.
    pub(super) fn align_behind_value(&mut self) -> Result<()> {
        let unit = (self.block_bytes as u64).min(4096);
        self.out.align(unit)
    }

    /// Decides how blocks are cut, if that is still open.
    fn decide(&mut self, all_seen: bool) {
        if self.plan.is_none() {
            let pending = &self.pending;
            let (mean, overhead) = (pending.mean_record_bytes(), pending.overhead());
            let plan = Plan::from_beginning(&pending.coordinates(), mean, overhead, all_seen, &self.options);
            self.block_bytes = plan.block_bytes as usize;
            self.pending.set_block_bytes(self.block_bytes);
            self.locations.set_block_bytes(u64::from(plan.block_bytes));
            self.plan = Some(plan);
        }
    }

    /// Writes blocks until at most `keep` bytes of records are pending; with 0, all of them.
    fn drain(&mut self, keep: usize) -> Result<()> {
        self.decide(keep == 0);
        if keep == 0 {
            self.pending.complete();
        }
        let mut begin = 0;
        while begin < self.pending.reach() && (keep == 0 || self.pending.load_from(begin) > keep) {
            begin = self.write_group(begin)?;
        }
        self.pending.discard(begin);
        Ok(())
    }

    /// Writes the blocks of one group of separators from record `begin` on; returns the record behind the last.
    fn write_group(&mut self, begin: usize) -> Result<usize> {
        let most = self.most_in_group(begin);
        let begins = if !self.options.key_type.is_numeric() {
            let group = fit_strings(std::mem::take(&mut self.next_string), begin, &self.pending, most);
            let begins = group.begins.clone();
            self.strings.push(group);
            self.proof.strings(&self.strings, &begins, &self.pending);
            begins
        } else if self.plan.is_some_and(|plan| plan.ends_by_separator)
            // Behind the greatest number are only its repeats, which no separator tells apart.
            && let Some(start) = self.fences.last().map_or(Some(0), |fence| fence.start())
        {
            let group = fit_flexible(start, begin, &self.pending, most, Effort::Full);
            self.coded.push(group.header, group.residuals);
            let pending = &self.pending;
            self.proof.numbers(&self.coded, start, &group.begins, |record| pending.border(record));
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

    /// Most blocks of the group that begins at record `begin`: about as many as there are records for, whatever they shrink to, so that
    /// its last block does not end for want of records.
    fn most_in_group(&self, begin: usize) -> usize {
        if self.is_plain {
            return 1;
        }
        let most = (self.lookahead_bytes / self.block_bytes).clamp(2, MAX_GROUP);
        match self.layout {
            Layout::Dense { .. } => most,
            Layout::Slotted => {
                let block = self.pending.full_end(begin) - begin;
                ((self.pending.len() - begin) / block.max(1)).saturating_sub(SPARE_BLOCKS).clamp(2, most)
            }
        }
    }

    /// Where the last block of a group ends: for byte strings where the next separator is shortest, else where it is full.
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
            self.proof.next_string(&self.next_string, low, high);
        }
        end
    }

    fn write_block(&mut self, begin: usize, end: usize) -> Result<()> {
        let (file_id, offset) = (self.out.file_id, self.out.offset());
        let (pending, compression) = (&mut self.pending, &self.options.compression);
        let (raw_bytes, stored_bytes) = self.out.put_with(|out| {
            let start = out.len();
            pending.lay_out(begin, end, out);
            let raw_bytes = out.len() - start;
            if let Some(packed) = pack(compression, &out[start..]) {
                out.truncate(start);
                out.extend_from_slice(&packed);
            }
            checksum::seal(file_id, offset, &mut out[start..]);
            (raw_bytes, out.len() - start)
        })?;
        self.largest_block_bytes = self.largest_block_bytes.max(raw_bytes);
        self.locations.push(offset, stored_bytes);
        self.counts.push((end - begin) as u32);
        if self.options.key_type.is_numeric() && end < self.pending.len() {
            if !index::needs_fences(&self.options) {
                // The last one tells where the next group starts.
                self.fences.clear();
            }
            self.fences.push(self.pending.border(end));
        }
        if self.options.filter_bits_per_key.is_some() {
            (begin..end).for_each(|record| self.filter.add(self.pending.record_key(record)));
        }
        self.filter.end_block()
    }

    /// Writes what is pending, tunes and writes the index, proves that it leads to every block, makes the file durable, and gives it its
    /// name. A table whose index cannot be proved is written once more with plain separators.
    ///
    /// # Errors
    /// Whatever the storage reports; [`Error::Internal`] where the plain index cannot be proved either. Nothing is left under the name
    /// then.
    pub fn finish(mut self) -> Result<TableReport> {
        self.drain(0)?;
        let numeric = self.options.key_type.is_numeric();
        self.pending = Pending::new(self.layout, self.options.tagged, self.block_bytes, numeric);
        let (locations, location_groups) = self.locations.encode();
        let built = self.design(locations.len() as u64);
        let doubt = self.proof.doubt().map(str::to_owned);
        if let Some(doubt) = doubt.or_else(|| built.doubt(self.locations.blocks(), self.proof.digest())) {
            return self.write_plainly(doubt, (&locations, location_groups));
        }
        let meta = self.write_rest(built, (&locations, location_groups))?;
        self.out.publish()?;
        Ok(TableReport::new(&meta, self.out.offset()))
    }

    fn design(&mut self, location_bytes: u64) -> BuiltIndex {
        let bottom = match self.options.key_type.is_numeric() {
            true => Bottom::Numbers {
                fences: std::mem::take(&mut self.fences),
                first: self.first_coordinate,
                coded: std::mem::take(&mut self.coded),
            },
            false => Bottom::Strings(std::mem::take(&mut self.strings)),
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

    /// Writes all that lies behind the blocks: index, counts, filter and tail.
    fn write_rest(&mut self, built: BuiltIndex, (locations, location_groups): (&[u8], u64)) -> Result<Meta> {
        self.out.align(4096)?;
        let index = built.write(&mut self.out)?;
        let counts = write_counts(&mut self.out, &self.counts)?;
        let filter = self.filter.write(&mut self.out)?;
        let meta = Meta {
            key_type: self.options.key_type,
            value_width: match self.layout {
                Layout::Dense { value, .. } => Some(value as u64),
                Layout::Slotted => None,
            },
            tagged: self.options.tagged,
            distinct: self.distinct,
            compression: self.options.compression.name().to_owned(),
            records: self.records,
            blocks: self.locations.blocks(),
            block_bytes: self.block_bytes as u64,
            largest_block_bytes: self.largest_block_bytes as u64,
            data_bytes: self.locations.end(),
            source: Source::Own,
            layers: index.layers,
            location_bytes: locations.len() as u64,
            location_groups,
            per_block: counts::even_count(&self.counts).unwrap_or(0),
            counts,
            filter,
            mean_read_bytes: index.mean_read_bytes,
            max_read_bytes: index.max_read_bytes,
            tuned_for: self.options.profile.name().to_owned(),
            properties: self.options.properties.clone(),
        };
        write_tail(&mut self.out, &index.root, locations, &meta)?;
        Ok(meta)
    }

    /// Ends the file without an index, and writes the table anew from a scan of it, with plain separators: `doubt` tells what is wrong
    /// with the index.
    fn write_plainly(mut self, doubt: String, locations: (&[u8], u64)) -> Result<TableReport> {
        let internal = |detail| Error::Internal { path: self.storage.path(&self.name), detail };
        if self.is_plain {
            return Err(internal(format!("{doubt}, with plain separators, too")));
        }
        let failed = internal(doubt.clone());
        let mut options = self.options.clone();
        if options.key_type.is_numeric() {
            options.design = DesignRequest::Btree;
        }
        options.block_bytes = u32::try_from(self.block_bytes).ok();
        self.write_rest(BuiltIndex::None { data_bytes: self.locations.end() }, locations)?;
        let scanned = self.out.reopen()?;
        let mut plain = Self::create(self.storage.clone(), &self.name, options)?;
        (plain.is_plain, plain.lookahead_bytes) = (true, self.lookahead_bytes);
        plain.append_scanned(&scanned)?;
        if plain.records != self.records {
            return Err(failed);
        }
        plain.finish()
    }
}

/// How the keys of records follow each other.
#[derive(Debug, Default)]
struct KeyOrder {
    /// The first record whose key is less than the one before.
    falls_at: Option<usize>,
    /// Records with the key of the one before.
    repeats: u64,
}

/// The order of keys of 8 bytes behind `last`.
fn order_of_numbers(last: &[u8], records: &[u8], width: usize) -> KeyOrder {
    let number = |key: &[u8]| key.first_chunk::<8>().map_or(0, |key| u64::from_be_bytes(*key));
    let (mut before, mut falls, mut repeats) = (number(last), false, 0);
    for record in records.chunks_exact(width) {
        let key = number(record);
        falls |= key < before;
        repeats += u64::from(key == before);
        before = key;
    }
    if falls { order_of_any(last, records, 8, width) } else { KeyOrder { falls_at: None, repeats } }
}

fn order_of_any(last: &[u8], records: &[u8], key: usize, width: usize) -> KeyOrder {
    let (mut before, mut order) = (last, KeyOrder::default());
    for (i, record) in records.chunks_exact(width).enumerate() {
        let key = &record[..key];
        match key.cmp(before) {
            std::cmp::Ordering::Less => {
                order.falls_at = Some(i);
                return order;
            }
            std::cmp::Ordering::Equal => order.repeats += 1,
            std::cmp::Ordering::Greater => {}
        }
        before = key;
    }
    order
}

/// The packed form of a block, if it is smaller: the body packed, its length before packing, and the trailer.
fn pack(compression: &Compression, raw: &[u8]) -> Option<Vec<u8>> {
    let (body, trailer) = raw.split_at(raw.len() - super::block::TRAILER_BYTES);
    let mut packed = Vec::new();
    let codec = compression.compress(body, &mut packed)?;
    packed.extend_from_slice(&(body.len() as u32).to_le_bytes());
    // Form and codec share a byte.
    packed.push(codec | trailer[0]);
    packed.extend_from_slice(&trailer[1..]);
    Some(packed)
}

/// Refuses sizes of blocks that the format does not take.
pub(super) fn check_block_bytes(block_bytes: u32) -> Result<()> {
    if !BLOCK_BYTES.contains(&block_bytes) || !block_bytes.is_power_of_two() {
        return Err(Error::InvalidArgument(format!(
            "blocks of {block_bytes} bytes: the size is a power of two from {} to {}",
            BLOCK_BYTES.start(),
            BLOCK_BYTES.end()
        )));
    }
    Ok(())
}

fn check_options(options: &WriteOptions, block_bytes: u32) -> Result<()> {
    check_block_bytes(block_bytes)?;
    let record = options.key_type.width().unwrap_or(0) + options.value_width.unwrap_or(0) as usize;
    if options.key_type.width().is_some()
        && record + super::block::TRAILER_BYTES > block_bytes as usize
        && options.value_width.is_some()
    {
        return Err(Error::InvalidArgument(format!(
            "a record of {record} bytes does not fit a block of {block_bytes}; take larger blocks, or leave the value's width open"
        )));
    }
    if options.tagged && options.value_width.is_some_and(|width| (width as usize) < TAG_BYTES) {
        return Err(Error::InvalidArgument(format!("tagged values have at least {TAG_BYTES} bytes")));
    }
    Ok(())
}

/// Path of the table that a writer works on, for messages.
impl TableWriter {
    /// The full path of the table that is being written.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.storage.path(&self.name)
    }
}

/// What a store needs to know while it writes.
impl TableWriter {
    /// About how long the file will be, its index aside: bytes written, and those of records that wait.
    pub(crate) fn bytes_so_far(&self) -> u64 {
        self.out.offset() + self.pending.byte_len() as u64
    }

    /// Makes do with about so much memory, if nothing was written yet.
    pub(crate) fn limit_memory(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        // Up to twice as much waits, in records and in lists of them.
        self.lookahead_bytes = (bytes / 4).clamp(LEAST_LOOKAHEAD_BYTES, LOOKAHEAD_BYTES);
        self.out.limit_buffer(bytes / 8);
    }

    /// Makes do with about so much memory beside what grows with the number of blocks, and leaves writing to a worker that syncs every so
    /// many bytes; if nothing was written yet.
    ///
    /// # Errors
    /// [`Error::Io`] when the system gives no further thread.
    pub(crate) fn write_behind(&mut self, bytes: u64, sync_every_bytes: u64) -> Result<()> {
        let bytes = self.make_do_with(bytes);
        self.out.write_behind(bytes / 2 / self.out.buffer_capacity(), sync_every_bytes);
        Ok(())
    }

    /// The same without the worker; returns the memory again.
    pub(crate) fn make_do_with(&mut self, bytes: u64) -> usize {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        // Records of any length come with lists that may take several times as much as they do.
        let part = if self.layout == Layout::Slotted { 64 } else { 8 };
        let least = 4 * self.block_bytes;
        self.lookahead_bytes = (bytes / part).clamp(least.min(GROUP_LOOKAHEAD_BYTES), GROUP_LOOKAHEAD_BYTES);
        let lookahead = self.lookahead_bytes.max(least);
        self.piece_bytes = (lookahead / 4).min(PIECE_BYTES);
        self.pending.reserve(2 * lookahead + self.piece_bytes);
        let buffer = (bytes / 16).clamp(BEHIND_BUFFER_BYTES.0, BEHIND_BUFFER_BYTES.1);
        self.out.set_buffer(buffer, (buffer / 4).max(self.block_bytes));
        bytes
    }

    /// How long writing has waited for the worker, in microseconds.
    pub(crate) fn waited_us(&self) -> f64 {
        self.out.waited_us()
    }

    /// Bytes of memory that grow with the number of blocks, about: what the index is made from, and its stored form when the table ends.
    pub(crate) fn growing_bytes(&self) -> u64 {
        let lists = self.counts.capacity() * 4 + self.fences.capacity() * size_of::<Fence>();
        let separators = self.coded.memory_bytes() + self.strings.memory_bytes();
        (2 * (lists + separators)) as u64 + self.locations.memory_bytes() + self.filter.memory_bytes()
    }

    /// Adds a property that was not known when the table was begun.
    pub(crate) fn set_property(&mut self, name: &str, value: Vec<u8>) {
        self.options.properties.push((name.to_owned(), value));
    }
}

/// What tests do to a writer whose own checks they check.
#[cfg(test)]
impl TableWriter {
    /// Writes what is pending, and lets `change` spoil the separators.
    pub(super) fn spoil(&mut self, change: impl FnOnce(&mut StringLayer, &mut CodedLayer)) {
        self.drain(0).unwrap();
        change(&mut self.strings, &mut self.coded);
    }

    /// Takes the table for one that is written for the second time.
    pub(super) fn take_for_second_try(&mut self) {
        self.is_plain = true;
    }
}
