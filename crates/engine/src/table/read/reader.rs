//! The table reader: opens a table and fetches checked blocks and index pages within the memory budget.

use super::context::ReadContext;
use super::files::TableFiles;
use super::filter::{TableFilter, keeps_filter};
use super::memory::TableMemory;
use super::read_trace::TracedRead;
use super::separators::{ResidentSeparators, resident_separators};
use crate::block::cache::{BlockCache, BlockKey, BlockNote};
use crate::block::compress::CodecError;
use crate::block::{checksum, compress};
use crate::error::{Cause, Error, Result, Setting};
use crate::file_format::FileFormat;
use crate::io::{
    FastPaths, ListedFile, LocatedFile, Place, Profile, Purpose, ReadRequest, ReadableFile, Storage, spoiled,
};
use crate::table::block::note::{self, NotedForm};
use crate::table::block::view::{BlockView, Layout, TRAILER_BYTES, push_trailer, trailer};
use crate::table::format::counts::{self, RecordCounts};
use crate::table::format::filter::FILTER_PAGE_BYTES;
use crate::table::format::locations::BlockLocations;
use crate::table::format::meta as format;
use crate::table::format::meta::{DataSource, FilterMeta, NodeKind, Section, TableMeta, TableTail};
use crate::table::format::options::TableOptions;
use crate::table::format::value::VALUE_BYTES_MAX;
use crate::table::report::lookup_sample::LookupSample;
use crate::table::report::summary::TableReport;
use crate::telemetry::{self, Counter};
use crate::types::{KeyType, RecordType, ValueType};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Upper limit of the budget share kept for blocks and pages that operations hold while they work, in bytes.
const WORKING_BYTES_MAX: u64 = 32 << 20;
/// Memory of an open table apart from its index: metadata, file handle and path, in bytes.
const OPEN_TABLE_BYTES: u64 = 2 << 10;
/// An opening read of up to this size is made with any budget, in bytes.
const OPENING_BYTES_MIN: u64 = 1 << 20;
/// The option that sets a table's memory, alone and in a store.
const TABLE_MEMORY: Setting = Setting::TableMemory;
const STORE_MEMORY: Setting = Setting::StoreMemory;
/// Largest index page in bytes: one group of separators of the longest keys takes less.
const INDEX_PAGE_BYTES_MAX: u64 = 1 << 20;
/// Largest block in bytes, before compression: a key and a value of the greatest lengths.
const BLOCK_BYTES_MAX: u64 = VALUE_BYTES_MAX + (1 << 20);

/// No codec compresses better; a block that claims to is corrupt and not worth the memory.
const COMPRESSION_RATIO_MAX: u64 = 1 << 16;

/// An immutable sorted table. Clones are cheap, and threads share a table without locks.
///
/// Opening takes one read, whose size follows from the length of the file. A lookup then takes one read for each index
/// layer below the root and one for the data; blocks and index pages in the cache are not read again. All data is
/// checked before use.
///
/// See [`TableWriter`](crate::table::TableWriter) for an example.
#[derive(Clone, Debug)]
pub struct Table {
    pub(in crate::table) inner: Arc<TableInner>,
}

#[derive(Debug)]
pub(in crate::table) struct TableInner {
    pub(in crate::table) files: TableFiles,
    pub(in crate::table) meta: TableMeta,
    pub(in crate::table) root: Vec<u8>,
    pub(in crate::table) locations: BlockLocations,
    pub(in crate::table) layout: Layout,
    pub(in crate::table) memory: TableMemory,
    pub(in crate::table) filter: TableFilter,
    /// The separators of a table of a store, for the start of its lookups.
    pub(in crate::table) separators: Option<ResidentSeparators>,
    pub(in crate::table) counts: OnceLock<RecordCounts>,
    /// Kind and sequence number of all records, if the table is not versioned.
    pub(in crate::table) unversioned: (u8, u64),
    pub(in crate::table) profile: Profile,
    pub(in crate::table) fast_paths: FastPaths,
    /// The sample of the keys that are looked up.
    pub(in crate::table) lookup_sample: Option<LookupSample>,
    /// Lookups, if the table was opened by itself.
    pub(in crate::table) gets: Counter,
}

/// Options for opening a table of a store.
#[derive(Clone, Debug)]
pub(crate) struct SharedOptions {
    /// Profile of the storage that the table is read from; decides when two reads are merged into one.
    pub(crate) profile: Profile,
    /// Largest separately stored value that is read as a whole, in bytes.
    pub(crate) value_bytes: u64,
    /// Limit for the opening read in bytes; reads up to 1 MiB are always made.
    pub(crate) opening_bytes: u64,
    /// Kind and sequence number of all records of a table that is not versioned.
    pub(crate) unversioned: (u8, u64),
    /// Whether the filter is read as a whole, and kept; else only the pages that lookups need.
    pub(crate) keeps_filter: bool,
    pub(crate) fast_paths: FastPaths,
}

/// The part of a table's free memory that caches blocks; operations hold blocks in the rest while they work.
pub(in crate::table) fn cache_bytes_of(free_bytes: u64) -> u64 {
    free_bytes - (free_bytes / 2).min(WORKING_BYTES_MAX)
}

impl Table {
    /// Opens the table at a [place](Place), with one read at its end. Local files are read through the page cache.
    ///
    /// # Errors
    /// [`Cause::NotATable`], [`Cause::Version`] or [`Cause::Damaged`] for the file; [`Cause::Changed`] if the
    /// data of an external index has changed; [`Cause::Memory`] if the budget is too small; errors of
    /// [`Place::file`] and of the storage.
    pub fn open(place: impl Into<Place>, options: &TableOptions) -> Result<Self> {
        let LocatedFile { storage, name } = place.into().file()?;
        let table = Self::open_in(storage, &name, options, None)?;
        if let Some(bytes) = options.warm_bytes {
            table.warm(bytes)?;
        }
        Ok(table)
    }

    /// Opens a table whose blocks are kept in a cache shared with other tables. Its other memory is reported by
    /// [`resident_bytes`](Self::resident_bytes).
    ///
    /// # Errors
    /// As [`Table::open`].
    pub(crate) fn open_with(
        storage: Arc<dyn Storage>,
        name: &str,
        cache: &Arc<BlockCache>,
        options: &SharedOptions,
    ) -> Result<Self> {
        let (memory_bytes, profile) = (options.value_bytes, options.profile.clone());
        let fast_paths = options.fast_paths;
        let open = TableOptions { memory_bytes, profile, fast_paths, ..TableOptions::default() };
        Self::open_in(storage, name, &open, Some((cache, options)))
    }

    /// Opens a table with a cache of its own or with a shared one. With a shared cache, `kind` and `sequence` are given
    /// for tables that are not versioned, and the budget is for reads other than blocks.
    pub(in crate::table) fn open_in(
        storage: Arc<dyn Storage>,
        name: &str,
        options: &TableOptions,
        shared: Option<(&Arc<BlockCache>, &SharedOptions)>,
    ) -> Result<Self> {
        let (opening_bytes, option) =
            shared.map_or((options.memory_bytes, TABLE_MEMORY), |(_, shared)| (shared.opening_bytes, STORE_MEMORY));
        let (file, opening, tail) = read_tail(&*storage, name, opening_bytes, option)?;
        let TableTail { file_id, meta, root, locations, offset } = tail;
        let damaged = |detail: &str| Error::damaged(file.path(), offset, detail);
        let (data, data_id) = open_source(&*storage, &file, file_id, &meta)?;
        check_meta(&meta, file.len(), data.len()).map_err(|detail| damaged(&detail))?;
        let locations = locations_of(&meta, locations).ok_or_else(|| damaged("an invalid location index"))?;
        let fast_paths = options.fast_paths;
        let keeps = |filter: &FilterMeta| shared.is_some() || keeps_filter(filter, options.memory_bytes);
        let asked_filter = meta.filter.filter(|filter| fast_paths.filter && keeps(filter));
        let filter_bytes = asked_filter.map_or(0, |filter| filter.section.bytes);
        let kept_bytes = root.len() as u64 + locations.resident_bytes() + meta.counts.bytes + filter_bytes;
        let free_bytes = options.memory_bytes.saturating_sub(kept_bytes);
        let cache_bytes = if fast_paths.cache { cache_bytes_of(free_bytes) } else { 0 };
        let cache =
            shared.map_or_else(|| options.blocks_cache(cache_bytes, meta.block_bytes), |(cache, _)| cache.clone());
        let mut separators = None;
        if let Some((cache, _)) = shared {
            separators = resident_separators(&meta, &root)
                .ok_or_else(|| damaged("the separators of its root do not ascend"))?
                .filter(|flat| fast_paths.separators && cache.try_reserve_flat(flat.bytes()));
        }
        let (numbers, limit_bytes) = (cached_numbers(&meta), options.memory_bytes);
        let working_bytes = free_bytes - cache_bytes_of(free_bytes);
        let flat_bytes = separators.as_ref().map_or(0, ResidentSeparators::bytes);
        let mut inner = TableInner {
            files: TableFiles { storage, own: file, id: file_id, data, data_id, opening, tail_offset: offset },
            memory: match shared {
                Some(_) => TableMemory::of_store(cache, flat_bytes, numbers, limit_bytes, working_bytes),
                None => TableMemory::own(cache, file_id, numbers, limit_bytes, working_bytes),
            },
            filter: TableFilter::new(asked_filter, shared.is_none_or(|(_, shared)| shared.keeps_filter)),
            layout: Layout::of(&meta),
            unversioned: shared.map_or((0, 0), |(_, shared)| shared.unversioned),
            profile: options.profile.clone(),
            counts: OnceLock::new(),
            lookup_sample: options.lookup_sample.clone(),
            gets: shared.map_or_else(|| Counter::register(telemetry::TABLE_GETS, &[]), |_| Counter::default()),
            root,
            locations,
            separators,
            fast_paths,
            meta,
        };
        // All of it is indispensable, except for the separators.
        let needed_bytes = inner.resident_bytes() - flat_bytes + OPEN_TABLE_BYTES;
        inner.memory.need(needed_bytes);
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens a table with as much memory as it needs, for a walk over the whole file.
    ///
    /// # Errors
    /// As [`Self::open`], except for a budget that is too small.
    pub(crate) fn open_for_walk(storage: Arc<dyn Storage>, name: &str, options: &TableOptions) -> Result<Self> {
        match Self::open((&storage, name), options) {
            Err(Error { cause: Cause::Memory { needed_bytes, .. }, .. }) => {
                let memory_bytes = options.memory_bytes.saturating_add(needed_bytes);
                Self::open((storage, name), &TableOptions { memory_bytes, ..options.clone() })
            }
            opened => opened,
        }
    }

    /// The type of the keys.
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        self.inner.meta.record_type.keys
    }

    /// The type of the values.
    #[must_use]
    pub fn value_type(&self) -> &ValueType {
        &self.inner.meta.record_type.values
    }

    /// The types of keys and values, and the names of columns.
    #[must_use]
    pub fn record_type(&self) -> &RecordType {
        &self.inner.meta.record_type
    }

    /// The width of every value in bytes, for tables with fixed-width values.
    #[must_use]
    pub fn value_width(&self) -> Option<u64> {
        self.inner.meta.value_width
    }

    /// Whether this is an external index: the records are in another file.
    #[must_use]
    pub fn is_external(&self) -> bool {
        !matches!(self.inner.meta.source, DataSource::Own)
    }

    /// Whether records are versioned, with a kind and a sequence number each.
    #[inline]
    #[must_use]
    pub fn is_versioned(&self) -> bool {
        self.inner.meta.versioned
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.inner.meta.records
    }

    /// Whether the table has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all keys are distinct.
    #[inline]
    #[must_use]
    pub fn is_distinct(&self) -> bool {
        self.inner.meta.distinct
    }

    /// The path of the file, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.inner.files.own().path()
    }

    /// The path of the file that holds the records: the table itself or, for an external index, the file that it
    /// indexes.
    #[must_use]
    pub fn data_path(&self) -> &Path {
        self.inner.files.data().path()
    }

    /// A property that was stored by the writer.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&[u8]> {
        self.inner.meta.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    /// The random identity that the file was given when it was written.
    #[must_use]
    pub fn file_id(&self) -> u64 {
        self.inner.files.id()
    }

    /// The costs of reads that the table was opened with.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.inner.profile
    }

    /// The read that opened the table.
    #[must_use]
    pub fn opening(&self) -> TracedRead {
        self.inner.files.opening()
    }

    /// Whether reads bypass the page cache of the operating system.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.inner.files.data().is_direct()
    }

    /// A report of sizes, layers and the cost of lookups.
    #[must_use]
    pub fn explain(&self) -> TableReport {
        TableReport::new(&self.inner.meta, self.inner.files.own().len())
    }
}

/// Makes the opening read and decodes the tail. `option` names the option that sets the budget.
///
/// # Errors
/// [`Cause::Memory`] if the read is larger than the budget.
pub(in crate::table) fn read_tail(
    storage: &dyn Storage,
    name: &str,
    memory_bytes: u64,
    option: Setting,
) -> Result<(Arc<dyn ReadableFile>, TracedRead, TableTail)> {
    let file = storage.open(name)?;
    let bytes = format::opening_bytes_of_file(file.len());
    let opening = TracedRead { purpose: Purpose::Open, offset: file.len() - bytes, bytes };
    if bytes > memory_bytes.max(OPENING_BYTES_MIN) {
        return Err(too_large_to_open(&*file, bytes, memory_bytes, option));
    }
    let mut read = vec![0; bytes as usize];
    file.read(ReadRequest { offset: opening.offset, buffer: &mut read, purpose: Purpose::Open })?;
    let tail = format::decode_tail(file.path(), file.len(), &read)
        .map_err(|error| file.distrust().unwrap_or_else(|| with_format(error, &*file)))?;
    Ok((file, opening, tail))
}

/// The locations of the blocks; `None` if `stored` is invalid.
fn locations_of(meta: &TableMeta, stored: Vec<u8>) -> Option<BlockLocations> {
    match &meta.source {
        DataSource::Foreign { header_bytes, file_bytes, .. } => {
            BlockLocations::foreign(*header_bytes, meta.block_bytes, *file_bytes, record_bytes(meta))
        }
        _ if meta.location_bytes > 0 => {
            BlockLocations::parse(stored, meta.location_groups, meta.blocks, meta.data_bytes)
        }
        _ => Some(BlockLocations::Even { begin: 0, block_bytes: meta.block_bytes, end: meta.data_bytes }),
    }
}

/// Size of a dense record in bytes.
pub(in crate::table) fn record_bytes(meta: &TableMeta) -> u64 {
    meta.record_type.keys.width().unwrap_or(0) as u64 + meta.value_width.unwrap_or(0)
}

/// The error for a file whose opening read exceeds the budget: either a large file of another kind, or a table with a
/// large root.
fn too_large_to_open(file: &dyn ReadableFile, bytes: u64, memory_bytes: u64, option: Setting) -> Error {
    let mut footer = vec![0; format::FOOTER_BYTES];
    let offset = file.len().saturating_sub(format::FOOTER_BYTES as u64);
    let read = file.read(ReadRequest { offset, buffer: &mut footer, purpose: Purpose::Open });
    if let Err(error) = read.and_then(|()| format::check_footer(file.path(), &footer).map(|_| ())) {
        return with_format(error, file);
    }
    Error::memory(file.path(), bytes, memory_bytes, option)
}

/// Adds to the error for a file that is no table what else of Ogive the file is.
fn with_format(error: Error, file: &dyn ReadableFile) -> Error {
    if error.cause != Cause::NotATable {
        return error;
    }
    match FileFormat::of_file(file) {
        Err(development @ Error { cause: Cause::Version { .. }, .. }) => development,
        Ok(Some(format)) if format != FileFormat::Table => {
            let (detail, advice) = format.advice();
            error.with_detail(detail).advise(advice)
        }
        _ => error,
    }
}

fn open_source(
    storage: &dyn Storage,
    file: &Arc<dyn ReadableFile>,
    file_id: u64,
    meta: &TableMeta,
) -> Result<(Arc<dyn ReadableFile>, u64)> {
    let changed = |path: PathBuf, detail: String| Error::changed(path, detail);
    match &meta.source {
        DataSource::Own => Ok((file.clone(), file_id)),
        DataSource::Table { name, file_id } => {
            let data = storage.open(name)?;
            if data.len() < meta.data_bytes {
                return Err(changed(data.path().to_owned(), format!("it has {} bytes only", data.len())));
            }
            Ok((data, *file_id))
        }
        DataSource::Foreign { name, file_bytes, modified_ns, .. } => {
            // In an object store the first read tells.
            let opened = match storage.is_object_store() {
                true => storage.open_known(&ListedFile {
                    length_bytes: Some(*file_bytes),
                    modified_ns: Some(*modified_ns).filter(|&modified_ns| modified_ns != 0),
                    ..ListedFile::named(&**name)
                }),
                false => storage.open(name),
            };
            let data = match opened {
                Err(error @ Error { cause: Cause::ObjectChanged, .. }) => {
                    return Err(changed(error.place(), error.detail().to_owned()));
                }
                opened => opened?,
            };
            match format::difference(&*data, *file_bytes, *modified_ns) {
                Some(detail) => Err(changed(data.path().to_owned(), detail)),
                None => Ok((data, file_id)),
            }
        }
    }
}

/// Checks the metadata against the lengths of the files, before anything is allocated by it.
fn check_meta(meta: &TableMeta, file_bytes: u64, data_file_bytes: u64) -> std::result::Result<(), String> {
    let within = |section: Section, of: u64| section.offset.checked_add(section.bytes).is_some_and(|end| end <= of);
    if meta.data_bytes > data_file_bytes || meta.blocks > data_file_bytes {
        return Err("it states more data than its file holds".into());
    }
    let has_sizes = meta.largest_block_bytes.max(meta.block_bytes).max(meta.decoded_block_bytes) <= BLOCK_BYTES_MAX
        && meta.value_width.is_none_or(|width| width <= BLOCK_BYTES_MAX);
    if !has_sizes || (meta.blocks == 0) != (meta.records == 0) || meta.records >> 40 > 0 {
        return Err("it states an invalid size or number of records or blocks".into());
    }
    if !within(meta.counts, file_bytes) || meta.filter.is_some_and(|filter| !within(filter.section, file_bytes)) {
        return Err("a section lies past the end of the file".into());
    }
    if meta.counts.bytes > counts::most_bytes(meta.blocks) {
        return Err("more counts than blocks".into());
    }
    if meta.block_bytes == 0 && meta.blocks > 0 {
        return Err("blocks without bytes".into());
    }
    if meta.layers.iter().any(|layer| layer.granule != 1 && layer.kind != NodeKind::Coded) {
        return Err("nodes with an invalid granule".into());
    }
    for layer in meta.layers.split_last().map_or(&[][..], |(_, below)| below) {
        let bytes = layer.page_bytes.checked_mul(layer.pages).ok_or("a layer of invalid size")?;
        if !within(Section { offset: layer.offset, bytes }, file_bytes)
            || layer.pages == 0
            || layer.page_bytes < 32
            || layer.page_bytes > INDEX_PAGE_BYTES_MAX
        {
            return Err("a layer lies past the end of the file".into());
        }
    }
    Ok(())
}

/// The numbers that blocks and pages have in the cache: the blocks, then the pages of the layers, then those of the
/// filter.
fn cached_numbers(meta: &TableMeta) -> u64 {
    let filter_bytes = meta.filter.map_or(0, |filter| filter.section.bytes);
    pages_before(meta, meta.layers.len() + 1).saturating_add(filter_bytes / FILTER_PAGE_BYTES as u64)
}

/// The number of blocks, and of pages of the layers below `level`; the number of the level's first child.
fn pages_before(meta: &TableMeta, level: usize) -> u64 {
    let Some(layers) = level.checked_sub(1) else { return 0 };
    meta.layers.iter().take(layers).fold(meta.blocks, |before, layer| before.saturating_add(layer.pages))
}

impl TableInner {
    pub(in crate::table) fn damaged(&self, offset: u64, detail: impl Into<String>) -> Error {
        spoiled(&**self.files.own(), offset, detail)
    }

    /// Number of children of a level: blocks at level 0, else pages of that layer.
    pub(in crate::table) fn children(&self, level: usize) -> u64 {
        if level == 0 { self.meta.blocks } else { self.meta.layers[level - 1].pages }
    }

    pub(in crate::table) fn purpose(level: usize) -> Purpose {
        if level == 0 { Purpose::Data } else { Purpose::Layer(level as u8) }
    }

    /// The location of a child.
    pub(in crate::table) fn section(&self, level: usize, child: u64) -> Result<Section> {
        if level == 0 {
            let section = self.locations.of(child).filter(|section| {
                section.offset.checked_add(section.bytes).is_some_and(|end| end <= self.files.data().len())
                    && section.bytes <= self.meta.largest_block_bytes.max(self.meta.block_bytes)
            });
            return section.ok_or_else(|| {
                self.damaged(self.files.tail_offset(), format!("the location of block {child} is unknown"))
            });
        }
        let layer = &self.meta.layers[level - 1];
        Ok(Section { offset: layer.offset + child * layer.page_bytes, bytes: layer.page_bytes })
    }

    /// The key of a child in the cache; pages of the filter are children of one more level than there are layers.
    #[inline]
    pub(in crate::table) fn cache_key(&self, level: usize, child: u64) -> BlockKey {
        self.memory.key(pages_before(&self.meta, level) + child)
    }

    /// One child, checked and decompressed.
    pub(in crate::table) fn child(&self, level: usize, child: u64, reads: &mut ReadContext<'_>) -> Result<Arc<[u8]>> {
        if let Some(found) = reads.ahead.get(&(level, child)) {
            return Ok(found.clone());
        }
        if let Some(found) = self.memory.cache().get(self.cache_key(level, child)) {
            return Ok(found);
        }
        let section = self.section(level, child)?;
        self.defer_children(level, [(child, section)].into_iter(), reads)?;
        let bytes = self.read(level, section, reads)?;
        self.keep(level, child, section, &bytes)
    }

    /// The children `first..=last`; those not in the cache are read with one request for each contiguous run.
    pub(in crate::table) fn row(
        &self,
        level: usize,
        first: u64,
        last: u64,
        reads: &mut ReadContext<'_>,
    ) -> Result<Vec<Arc<[u8]>>> {
        if first == last {
            return Ok(vec![self.child(level, first, reads)?]);
        }
        let mut row = Vec::with_capacity((last - first + 1) as usize);
        // Runs of children to read: their locations, and their positions in the result.
        let mut missing: Vec<(Section, Range<u64>)> = Vec::new();
        for child in first..=last {
            let cached = reads.ahead.get(&(level, child)).cloned();
            let found = cached.or_else(|| self.memory.cache().get(self.cache_key(level, child)));
            if found.is_none() {
                let section = self.section(level, child)?;
                match missing.last_mut() {
                    Some((whole, children)) if children.end == child && whole.end() == section.offset => {
                        whole.bytes += section.bytes;
                        children.end += 1;
                    }
                    _ => missing.push((section, child..child + 1)),
                }
            }
            row.push(found);
        }
        if !missing.is_empty() && reads.missing.is_some() {
            let children = missing.into_iter().flat_map(|(_, children)| children);
            let located: Vec<_> =
                children.map(|child| Ok((child, self.section(level, child)?))).collect::<Result<_>>()?;
            self.defer_children(level, located.into_iter(), reads)?;
            return Ok(Vec::new());
        }
        for (whole, children) in missing {
            let bytes = self.read(level, whole, reads)?;
            for child in children {
                let section = self.section(level, child)?;
                let at = (section.offset - whole.offset) as usize;
                row[(child - first) as usize] =
                    Some(self.keep(level, child, section, &bytes[at..][..section.bytes as usize])?);
            }
        }
        Ok(row.into_iter().flatten().collect())
    }

    /// Reads a contiguous run of children.
    fn read(&self, level: usize, section: Section, reads: &mut ReadContext<'_>) -> Result<Vec<u8>> {
        let mut buffer = vec![0; section.bytes as usize];
        let file = self.files.of_level(level);
        file.read(ReadRequest { offset: section.offset, buffer: &mut buffer, purpose: Self::purpose(level) })?;
        reads.note(Self::purpose(level), section);
        Ok(buffer)
    }

    /// Checks and decompresses a child, and offers it to the cache.
    pub(in crate::table) fn keep(&self, level: usize, child: u64, section: Section, bytes: &[u8]) -> Result<Arc<[u8]>> {
        let checked = self.check(level, child, section, bytes)?;
        self.memory.cache().insert(self.cache_key(level, child), checked.clone());
        Ok(checked)
    }

    /// A block from the cache.
    pub(in crate::table) fn cached(&self, block: u64) -> Option<Arc<[u8]>> {
        self.memory.cache().get(self.cache_key(0, block))
    }

    /// A block that was prefetched, or is cached, then with its note.
    pub(in crate::table) fn block_in_memory(
        &self,
        block: u64,
        reads: &ReadContext<'_>,
    ) -> Option<(Arc<[u8]>, BlockNote)> {
        match reads.ahead.get(&(0, block)) {
            Some(prefetched) => Some((prefetched.clone(), BlockNote::default())),
            None => self.memory.cache().get_if_cached(self.cache_key(0, block)),
        }
    }

    /// The view of a block that is used again: its note is kept, so that its head is decoded once.
    pub(in crate::table) fn noted_view<'a>(&self, block: u64, bytes: &'a [u8]) -> Result<BlockView<'a>> {
        let view = self.view(block, bytes)?;
        let note = view.note();
        if note::form_of(&note) != NotedForm::None {
            self.memory.cache().set_note(self.cache_key(0, block), note);
        }
        Ok(view)
    }

    /// Checks and decompresses a child that was read.
    pub(in crate::table) fn check(
        &self,
        level: usize,
        child: u64,
        section: Section,
        bytes: &[u8],
    ) -> Result<Arc<[u8]>> {
        if level > 0 {
            return match checksum::check(self.files.id(), section.offset, bytes) {
                true => Ok(bytes.into()),
                false => {
                    Err(self.damaged(section.offset, format!("the checksum of index page {child} does not match")))
                }
            };
        }
        if let DataSource::Foreign { little_endian, .. } = self.meta.source {
            return Ok(self.adopt(bytes.to_vec(), little_endian).into());
        }
        let damaged = |detail: String| spoiled(&**self.files.data(), section.offset, detail);
        if !checksum::check(self.files.data_id(), section.offset, bytes) {
            self.check_identity()?;
            return Err(damaged(format!("the checksum of block {child} does not match")));
        }
        let (codec, ..) = trailer(bytes).ok_or_else(|| damaged(format!("block {child} is too short")))?;
        if codec == compress::CODEC_STORED {
            return Ok(bytes.into());
        }
        self.unpack(child, section.offset, bytes, codec).map(Into::into)
    }

    /// Distinguishes a data table that was replaced after indexing from a damaged one.
    pub(in crate::table) fn check_identity(&self) -> Result<()> {
        let DataSource::Table { name, file_id } = &self.meta.source else { return Ok(()) };
        match read_tail(&**self.files.storage(), name, self.memory.limit_bytes(), TABLE_MEMORY) {
            Ok((data, _, tail)) if tail.file_id != *file_id => {
                let detail = "another table has replaced it".to_owned();
                Err(Error::changed(data.path(), detail))
            }
            _ => Ok(()),
        }
    }

    /// Decompresses a block at this offset.
    ///
    /// # Errors
    /// [`Cause::Damaged`]; [`Cause::Unsupported`] if this program was built without the codec.
    pub(in crate::table) fn unpack(&self, block: u64, offset: u64, bytes: &[u8], codec: u8) -> Result<Vec<u8>> {
        let unpacked = self.unpack_with(bytes, codec);
        let damaged = || spoiled(&**self.files.data(), offset, format!("block {block} cannot be decompressed"));
        unpacked.ok_or_else(damaged)?.map_err(|error| error.in_file(self.files.data().path(), damaged))
    }

    /// `None` for a length that no block has.
    fn unpack_with(&self, bytes: &[u8], codec: u8) -> Option<Result<Vec<u8>, CodecError>> {
        let (packed, trailer) = bytes.split_at_checked(bytes.len().checked_sub(TRAILER_BYTES)?)?;
        let (packed, length) = packed.split_last_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let most = (packed.len() as u64).saturating_mul(COMPRESSION_RATIO_MAX).min(self.meta.largest_block_bytes);
        if length as u64 > most {
            return None;
        }
        let mut raw = Vec::new();
        Some(compress::decompress(codec, packed, length, &mut raw).map(|()| {
            raw.extend_from_slice(trailer);
            raw
        }))
    }

    /// Converts records of a foreign file to the form of a dense block.
    fn adopt(&self, mut bytes: Vec<u8>, little_endian: bool) -> Vec<u8> {
        let Layout::Dense { key, value } = self.layout else { return bytes };
        let count = bytes.len() / (key + value);
        if little_endian {
            bytes.chunks_exact_mut(key + value).for_each(|record| record[..key].reverse());
        }
        bytes.truncate(count * (key + value));
        push_trailer(&mut bytes, 0, count);
        bytes
    }

    /// The cumulative counts, read at first use.
    pub(in crate::table) fn counts(&self, reads: &mut ReadContext<'_>) -> Result<&RecordCounts> {
        if let Some(counts) = self.counts.get() {
            return Ok(counts);
        }
        let TableMeta { blocks, records, per_block, counts: section, .. } = self.meta;
        if section.bytes == 0 {
            return Ok(self.counts.get_or_init(|| RecordCounts::Even { per_block, blocks, records }));
        }
        self.defer_counts(reads)?;
        self.keep_counts(self.whole(section, Purpose::Counts, reads)?)
    }

    /// Checks the stored record counts and keeps them.
    pub(in crate::table) fn keep_counts(&self, bytes: Vec<u8>) -> Result<&RecordCounts> {
        let TableMeta { blocks, records, counts: section, .. } = self.meta;
        if !checksum::check(self.files.id(), section.offset, &bytes) {
            return Err(self.damaged(section.offset, "the checksum of the counts does not match"));
        }
        Ok(self.counts.get_or_init(|| RecordCounts::Packed { bytes, blocks, records }))
    }

    /// Reads a whole section of the index file.
    pub(in crate::table) fn whole(
        &self,
        section: Section,
        purpose: Purpose,
        reads: &mut ReadContext<'_>,
    ) -> Result<Vec<u8>> {
        let mut bytes = vec![0; section.bytes as usize];
        self.files.own().read(ReadRequest { offset: section.offset, buffer: &mut bytes, purpose })?;
        reads.note(purpose, section);
        Ok(bytes)
    }

    /// Kind and granule of the nodes that lead to the children of `level`.
    pub(in crate::table) fn nodes_over(&self, level: usize) -> (NodeKind, u64) {
        let layer = &self.meta.layers[level];
        (layer.kind, layer.granule)
    }
}
