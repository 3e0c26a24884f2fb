//! The table writer for unsorted input: an external sort that feeds the sorted writer.

use super::{SORT_MEMORY_BYTES_MIN, Sorter, remove_leftovers};
use crate::error::{Advice, Call, Error, Result};
use crate::io::{LocatedFile, Place, Storage};
use crate::table::block::parts::{VERSION_TAG_BYTES, VersionTag};
use crate::table::format::options::TableWriteOptions;
use crate::table::format::value::ValuePointer;
use crate::table::report::summary::TableReport;
use crate::table::write::writer::TableWriter;
use std::io::Read;
use std::sync::Arc;

/// Records between two calls of an observer.
const RECORDS_OBSERVED: u64 = 1 << 12;
/// Prefix of a sorted value that is stored inline.
const VALUE_INLINE: u8 = 0;
/// Prefix of a sorted value that is a pointer to a separately stored one.
const VALUE_SEPARATE: u8 = 1;

/// Writes a table from records in any order. Records with equal keys keep the order in which they were appended.
///
/// Records are collected in a buffer, and in temporary files next to the table when it is full
/// ([`crate::table::sort`]). Values too long for a block, or for the buffer, are written to the table's file at once;
/// only their locations are sorted.
///
/// Memory use: that of the sort, about 16 MiB for the writer, and a few bytes for each block.
///
/// ```
/// use ogive::io::MemoryStorage;
/// use ogive::KeyType;
/// use ogive::table::{TableOptions, SortingWriter, Table, TableWriteOptions};
/// use std::sync::Arc;
///
/// let storage = Arc::new(MemoryStorage::new());
/// let options = TableWriteOptions::default().key_type(KeyType::Text);
/// let mut writer = SortingWriter::create((storage.clone(), "fruit"), options, 64 << 20)?;
/// writer.append(b"banana", b"yellow")?;
/// writer.append(b"apple", b"red")?;
/// writer.finish()?;
///
/// let table = Table::open((storage, "fruit"), &TableOptions::default())?;
/// assert_eq!(table.first()?, Some((b"apple".to_vec(), b"red".to_vec())));
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Debug)]
pub struct SortingWriter {
    writer: TableWriter,
    sorter: Sorter,
    order: SortLayout,
    records: u64,
    /// The sort key of the current record.
    scratch: Vec<u8>,
}

/// The form in which records are passed to the sorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SortLayout {
    /// As they are: values have a fixed width and are stored in blocks.
    Plain,
    /// With a byte before the value that says where the value is stored.
    Placed,
    /// By key, then by sequence number: the sort key consists of both.
    Tagged,
}

impl SortingWriter {
    /// The least memory of a sort, in bytes.
    pub const MEMORY_BYTES_MIN: u64 = SORT_MEMORY_BYTES_MIN;

    /// Creates a table at a [place](Place). Temporary files of the sort are stored next to it, under names that begin
    /// with its own. Leftovers of killed writers of that name are removed, so only one writer of a name may be active
    /// at a time.
    ///
    /// `memory_bytes` limits the memory of the sort, and is at least
    /// [`Self::MEMORY_BYTES_MIN`].
    ///
    /// In an object store only records that fit the memory can be sorted; see [`Self::create_with_scratch`].
    ///
    /// # Errors
    /// As [`TableWriter::create`]; [`Cause::Input`](crate::Cause::Input) for too little memory.
    pub fn create(place: impl Into<Place>, options: TableWriteOptions, memory_bytes: u64) -> Result<Self> {
        let file = place.into().file()?;
        let scratch = Arc::clone(&file.storage);
        Self::create_in(file, options, memory_bytes, scratch)
    }

    /// As [`Self::create`], with the temporary files of the sort in another storage: those of a table in an object
    /// store must be on a file system.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_with_scratch(
        place: impl Into<Place>,
        options: TableWriteOptions,
        memory_bytes: u64,
        scratch: Arc<dyn Storage>,
    ) -> Result<Self> {
        Self::create_in(place.into().file()?, options, memory_bytes, scratch)
    }

    fn create_in(
        file: LocatedFile,
        options: TableWriteOptions,
        memory_bytes: u64,
        scratch: Arc<dyn Storage>,
    ) -> Result<Self> {
        let name = file.name.clone();
        let sorter = Sorter::new(scratch.clone(), memory_bytes, &name)?;
        let versioned = options.versioned;
        let writer = TableWriter::create(file, options)?;
        if !scratch.is_object_store() {
            // Only now is it certain that the name may be written.
            remove_leftovers(&*scratch, &name)?;
        }
        let order = match () {
            () if versioned => SortLayout::Tagged,
            () if writer.takes_streams() => SortLayout::Placed,
            () => SortLayout::Plain,
        };
        Ok(Self { writer, sorter, order, records: 0, scratch: Default::default() })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// `Cause::KeyLength`; `Cause::ValueTooLarge` for a record that must be stored in a block, as those of a fixed
    /// width and of versions must, and takes more than a quarter of the memory, which leaves the writer usable; storage
    /// errors, which end the sort.
    pub fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.writer.check_value(self.records, value)?;
        self.writer.check_shape(self.records, key, value.len() as u64)?;
        // Its location fits where a value of less than half a block does not.
        let is_too_long = || self.order == SortLayout::Placed && placed_bytes(key, value) > self.record_bytes_max();
        if self.writer.stores_separately(value.len()) || is_too_long() {
            return self.append_separate_value(key, &mut &value[..]);
        }
        match self.order {
            SortLayout::Plain => self.sorter.push(key, value)?,
            SortLayout::Placed => self.push_placed(key, VALUE_INLINE, value)?,
            SortLayout::Tagged => {
                let sort_key = &mut self.scratch;
                sort_key.clear();
                push_escaped(sort_key, key);
                let Some(tag) = value.first_chunk::<VERSION_TAG_BYTES>() else {
                    let refused = "values of a versioned table begin with a kind byte and a sequence number";
                    return Err(Error::input(refused));
                };
                sort_key.extend_from_slice(&tag[1..]);
                self.sorter.push(sort_key, value)?;
            }
        }
        self.records += 1;
        Ok(())
    }

    /// Appends a record whose value is read from a stream to its end, up to 1 GiB.
    ///
    /// # Errors
    /// As [`Self::append`]; [`Cause::Input`](crate::Cause::Input) in a table of dense or versioned records.
    pub fn append_stream(&mut self, key: &[u8], value: &mut dyn Read) -> Result<()> {
        if !self.writer.takes_streams() {
            return Err(Error::input("values of fixed width or with versions cannot be streamed")
                .advise(Advice::Use(Call::AppendWhole)));
        }
        self.writer.check_shape(self.records, key, 0)?;
        self.append_separate_value(key, value)
    }

    /// Appends a version of a record; the versions of one key are ordered by sequence number, largest first.
    ///
    /// # Errors
    /// As [`Self::append`]; [`Cause::Input`](crate::Cause::Input) in a table that is not versioned.
    pub fn append_version(&mut self, key: &[u8], tag: u8, sequence: u64, value: &[u8]) -> Result<()> {
        if self.order != SortLayout::Tagged {
            return Err(Error::input("this table is not versioned").advise(Advice::Use(Call::CreateVersioned)));
        }
        self.append(key, &[&VersionTag { kind: tag, sequence }.to_bytes()[..], value].concat())
    }

    /// Number of records appended so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether no record was appended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Approximate limit for key and value together of a record stored in a block: a quarter of the memory.
    #[must_use]
    pub fn record_bytes_max(&self) -> u64 {
        self.sorter.record_bytes_max()
    }

    fn append_separate_value(&mut self, key: &[u8], value: &mut dyn Read) -> Result<()> {
        let pointer = self.writer.write_separate_value(value)?;
        self.push_placed(key, VALUE_SEPARATE, &pointer.encode())?;
        self.records += 1;
        Ok(())
    }

    fn push_placed(&mut self, key: &[u8], place: u8, value: &[u8]) -> Result<()> {
        self.sorter.push_in_parts(key, [&[place], value])
    }

    /// Bytes of the records appended so far, as they are sorted: what [`Self::finish`] merges, if one merge is enough.
    /// Long values are written at once, and count with their locations only.
    #[must_use]
    pub fn sorted_bytes(&self) -> u64 {
        self.sorter.record_bytes()
    }

    /// Sorts the records and writes the table.
    ///
    /// # Errors
    /// Storage errors; in that case neither a file under the name nor a temporary file is left.
    pub fn finish(self) -> Result<TableReport> {
        self.finish_observed(&mut |_, _| {})
    }

    /// As [`Self::finish`]. `progress` receives the bytes of records merged so far, and those of all merges; after the
    /// last one, the index is designed and written.
    ///
    /// # Errors
    /// As there.
    pub fn finish_observed(self, progress: &mut dyn FnMut(u64, u64)) -> Result<TableReport> {
        let Self { mut writer, sorter, order, records, scratch: mut key } = self;
        writer.expect(records);
        writer.align_after_value()?;
        let mut sorted = sorter.finish_observed(progress)?;
        let mut number = 0_u64;
        loop {
            let (merged_bytes, total_bytes) = sorted.progress();
            if number.is_multiple_of(RECORDS_OBSERVED) {
                progress(merged_bytes, total_bytes);
            }
            number += 1;
            let Some((sort_key, sorted_value)) = sorted.next_record()? else { break };
            let malformed =
                || Error::damaged(writer.path(), 0, "a sorted record differs from the record given to the sort");
            match order {
                // The values were checked before the sort.
                SortLayout::Plain => writer.append_checked(sort_key, sorted_value)?,
                SortLayout::Tagged => {
                    unescape(sort_key, &mut key).ok_or_else(malformed)?;
                    writer.append(&key, sorted_value)?;
                }
                SortLayout::Placed => match sorted_value.split_first().ok_or_else(malformed)? {
                    (&VALUE_SEPARATE, pointer) => {
                        let pointer = ValuePointer::decode(pointer).ok_or_else(malformed)?;
                        writer.append_separate_value(sort_key, pointer)?;
                    }
                    (_, value) => writer.append_checked(sort_key, value)?,
                },
            }
        }
        let (merged_bytes, total_bytes) = sorted.progress();
        progress(merged_bytes, total_bytes);
        drop(sorted);
        writer.finish()
    }
}

/// Bytes of a record with the byte that says where its value is.
fn placed_bytes(key: &[u8], value: &[u8]) -> u64 {
    key.len() as u64 + value.len() as u64 + 1
}

/// Appends a key in an escaped form that keeps the order when more data follows: a zero byte becomes 0 1, and 0 0 ends
/// the key.
fn push_escaped(out: &mut Vec<u8>, key: &[u8]) {
    for &byte in key {
        out.push(byte);
        if byte == 0 {
            out.push(1);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// Decodes the key that [`push_escaped`] wrote.
fn unescape(sort_key: &[u8], key: &mut Vec<u8>) -> Option<()> {
    key.clear();
    let mut rest = sort_key;
    loop {
        let (&byte, tail) = rest.split_first()?;
        if byte != 0 {
            key.push(byte);
            rest = tail;
            continue;
        }
        let (&mark, tail) = tail.split_first()?;
        if mark == 0 {
            return Some(());
        }
        key.push(0);
        rest = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_keys_keep_their_order_before_any_suffix() {
        let mut keys: Vec<Vec<u8>> = [
            &b""[..],
            b"\0",
            b"\0\0",
            b"\0\x01",
            b"\x01",
            b"a",
            b"a\0",
            b"a\0b",
            b"a\x01",
            b"ab",
            b"\xff",
            b"\xff\xff",
        ]
        .map(<[u8]>::to_vec)
        .to_vec();
        keys.sort();
        let escaped = |key: &[u8], suffix: u8| {
            let mut out = Vec::new();
            push_escaped(&mut out, key);
            out.extend_from_slice(&[suffix; 8]);
            out
        };
        for pair in keys.windows(2) {
            assert!(escaped(&pair[0], 0xFF) < escaped(&pair[1], 0), "{pair:?}");
        }
        for key in &keys {
            let mut back = Vec::new();
            unescape(&escaped(key, 7), &mut back).unwrap();
            assert_eq!(back, *key);
        }
    }
}
