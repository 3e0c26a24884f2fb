//! A segment of an archive: the changes of a store between two positions, with the keyspaces that they concern. The
//! layout is in `docs/format/backup.md`.

use crate::block::checksum::{CHECKSUM_BYTES, check, checksum, identity, seal};
use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use crate::file_format::ARCHIVE_MAGIC;
use crate::io::{Purpose, ReadRequest, ReadableFile, Storage, WritableFile, remove_if_present};
use crate::lsm::Change;
use crate::lsm::state::expiry::store_time::unix_ms_of;
use crate::lsm::state::version::ManifestEdit;
use std::sync::Arc;

/// The newest supported version.
const VERSION: u32 = 1;

/// `magic | version: u32 | zero: u32 | store | number | chain | after backup | start`, u64 each.
const HEADER_BYTES: usize = 56;

/// Length of a frame without its body: `length: u32 | body | checksum: u32`.
const FRAME_BYTES: usize = 4 + CHECKSUM_BYTES;

/// `kind | end: u64 | time: u64 | batches: u64`.
const FOOTER_BYTES: usize = 25;

/// Suffix of the names of segments, and of one that is being written.
const SUFFIX: &str = ".archive";
const NEW_SUFFIX: &str = ".archive.new";

/// Changes of a batch that are in one frame, about, in bytes.
const CHANGES_BYTES: usize = 1 << 20;

/// The kinds of frames.
const SCHEMA: u8 = 1;
const BATCH: u8 = 2;
const CHANGES: u8 = 3;
const FOOTER: u8 = 4;

/// The kinds of changes.
const INSERT: u8 = 1;
const REMOVE: u8 = 2;
const REMOVE_RANGE: u8 = 3;
const DROP: u8 = 4;
const INSERT_EXPIRING: u8 = 5;

/// The head of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHead {
    /// Identity of the store.
    pub(super) store: u64,
    pub(super) number: u64,
    /// The number of the first segment of its chain: those of a chain follow one another.
    pub(super) chain: u64,
    /// The newest backup when the chain was begun: only newer ones lead to it.
    pub(super) after_backup: u64,
    /// The number of the change behind which it begins.
    pub(super) start: u64,
}

/// The end of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentEnd {
    /// The number of the last change.
    pub(super) end: u64,
    /// When it was complete, in milliseconds since the start of 1970: no change in it is newer.
    pub(super) made_ms: u64,
    pub(super) batches: u64,
}

/// A segment without its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentInfo {
    pub(super) head: SegmentHead,
    pub(super) end: SegmentEnd,
    pub(super) bytes: u64,
}

/// The name of a segment.
pub(super) fn segment_name(number: u64) -> String {
    format!("{number:06}{SUFFIX}")
}

/// The number of the segment that has this name.
pub(super) fn segment_number(name: &str) -> Option<u64> {
    let number = name.strip_suffix(SUFFIX)?.parse().ok()?;
    (segment_name(number) == name).then_some(number)
}

/// Whether a name is that of a segment, or of one that is being written.
pub(super) fn is_segment(name: &str) -> bool {
    segment_number(name).is_some() || is_unfinished(name)
}

/// Whether a name is that of a segment that is being written, or was when its writer was killed.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(NEW_SUFFIX).is_some_and(|number| number.parse::<u64>().is_ok())
}

impl SegmentHead {
    fn identity(&self) -> u64 {
        identity(self.store, self.number)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = ARCHIVE_MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for word in [self.store, self.number, self.chain, self.after_backup, self.start] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.resize(HEADER_BYTES + CHECKSUM_BYTES, 0);
        seal(self.identity(), 0, &mut bytes);
        bytes
    }
}

impl SegmentEnd {
    fn encode(self) -> Vec<u8> {
        let mut body = vec![FOOTER];
        [self.end, self.made_ms, self.batches].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        body
    }

    fn decode(body: &[u8]) -> Option<Self> {
        let words = body.strip_prefix(&[FOOTER])?;
        let [end, made_ms, batches] = [0, 8, 16].map(|at| word(words, at));
        (body.len() == FOOTER_BYTES).then_some(Self { end, made_ms, batches })
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word))
}

/// The writer of a segment. Dropped before [`Self::finish`], it leaves none.
pub(super) struct ArchiveWriter {
    storage: Arc<dyn Storage>,
    file: Option<Box<dyn WritableFile>>,
    head: SegmentHead,
    /// The name of the file while it is written.
    name: String,
    batches: u64,
    /// The changes of the frame that is next, and the keyspace of the last of them.
    changes: Vec<u8>,
    keyspace: Option<String>,
}

impl ArchiveWriter {
    /// # Errors
    /// Errors of the storage; an error of kind `AlreadyExists` if another process writes to the archive.
    pub(super) fn create(storage: &Arc<dyn Storage>, head: SegmentHead, schema: &ManifestEdit) -> Result<Self> {
        // An object appears when it is complete.
        let name = match storage.is_object_store() {
            true => segment_name(head.number),
            false => format!("{:06}{NEW_SUFFIX}", head.number),
        };
        if !storage.is_object_store() {
            remove_if_present(&**storage, &name)?;
        }
        let file = Some(storage.create(&name)?);
        let (changes, storage) = (Vec::new(), Arc::clone(storage));
        let mut writer = Self { storage, file, head, name, batches: 0, changes, keyspace: None };
        writer.file()?.append(&head.encode())?;
        let mut body = vec![SCHEMA];
        schema.encode(&mut body);
        writer.frame(&body)?;
        Ok(writer)
    }

    fn file(&mut self) -> Result<&mut Box<dyn WritableFile>> {
        self.file.as_mut().ok_or_else(|| Error::input("the segment was finished before"))
    }

    /// Length of the file so far, in bytes.
    pub(super) fn len_bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.len())
    }

    fn frame(&mut self, body: &[u8]) -> Result<()> {
        let length = u32::try_from(body.len()).map_err(|_| Error::input("a change has at most 4 GiB"))?;
        let identity = self.head.identity();
        let file = self.file()?;
        let mut frame = length.to_le_bytes().to_vec();
        frame.extend_from_slice(body);
        let sum = checksum(identity, file.len(), &frame);
        frame.extend_from_slice(&sum.to_le_bytes());
        file.append(&frame)
    }

    /// Begins a batch that ends with the change of this number. The changes of one that is divisible may be made one
    /// by one.
    pub(super) fn batch(&mut self, last: u64, is_divisible: bool) -> Result<()> {
        self.end_changes()?;
        let mut body = vec![BATCH, u8::from(is_divisible)];
        put_varint(&mut body, last);
        self.batches += 1;
        self.frame(&body)
    }

    /// Adds a change to the batch; an ingestion as the records of its tables.
    ///
    /// # Errors
    /// Errors of the storage, and those of the tables.
    pub(super) fn change(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::Insert { keyspace, key, value, expires: None } => self.push(INSERT, keyspace, &[key, value]),
            Change::Insert { keyspace, key, value, expires: Some(expires) } => {
                self.push(INSERT_EXPIRING, keyspace, &[key, value, &unix_ms_of(*expires).to_le_bytes()])
            }
            Change::Remove { keyspace, key } => self.push(REMOVE, keyspace, &[key]),
            Change::RemoveRange { keyspace, start, end } => {
                self.push(REMOVE_RANGE, keyspace, &[start, end.as_deref().unwrap_or_default()])
            }
            Change::DropKeyspace { keyspace } => self.push(DROP, keyspace, &[]),
            Change::Ingest { keyspace, tables } => tables.records().try_for_each(|record| {
                let (key, value) = record?;
                self.push(INSERT, keyspace, &[&key, &value])
            }),
        }
    }

    fn push(&mut self, kind: u8, keyspace: &str, parts: &[&[u8]]) -> Result<()> {
        if self.changes.is_empty() {
            self.changes.push(CHANGES);
            self.keyspace = None;
        }
        let is_same = self.keyspace.as_deref() == Some(keyspace);
        self.changes.extend([kind, u8::from(is_same)]);
        if !is_same {
            put_bytes(&mut self.changes, keyspace.as_bytes());
            self.keyspace = Some(keyspace.to_owned());
        }
        parts.iter().for_each(|part| put_bytes(&mut self.changes, part));
        if self.changes.len() >= CHANGES_BYTES { self.end_changes() } else { Ok(()) }
    }

    fn end_changes(&mut self) -> Result<()> {
        let body = std::mem::take(&mut self.changes);
        if body.is_empty() { Ok(()) } else { self.frame(&body) }
    }

    /// Ends the segment, which is there, durably and as a whole, when this returns.
    pub(super) fn finish(mut self, end: u64, made_ms: u64) -> Result<SegmentInfo> {
        self.end_changes()?;
        let end = SegmentEnd { end, made_ms, batches: self.batches };
        self.frame(&end.encode())?;
        let file = self.file()?;
        file.sync()?;
        let bytes = file.len();
        self.file = None;
        let name = segment_name(self.head.number);
        if self.name != name {
            if let Err(error) = self.storage.rename(&self.name, &name) {
                _ = remove_if_present(&*self.storage, &self.name);
                return Err(error);
            }
            self.storage.sync_directory()?;
        }
        Ok(SegmentInfo { head: self.head, end, bytes })
    }
}

impl Drop for ArchiveWriter {
    fn drop(&mut self) {
        if self.file.take().is_some() && !self.storage.is_object_store() {
            // The next run removes what stays.
            _ = remove_if_present(&*self.storage, &self.name);
        }
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn take_bytes<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(bytes, at)?).ok()?;
    let taken = bytes.get(*at..at.checked_add(length)?)?;
    *at += length;
    Some(taken)
}

/// A change as it is archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchivedChange {
    pub(super) keyspace: Arc<str>,
    pub(super) action: ArchivedAction,
}

/// What a change does to its keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ArchivedAction {
    /// A key and a value, and when it expires, if it does, in milliseconds since the start of 1970.
    Insert(Vec<u8>, Vec<u8>, Option<u64>),
    Remove(Vec<u8>),
    /// An empty end is none.
    RemoveRange(Vec<u8>, Vec<u8>),
    Drop,
}

/// A part of a segment.
#[derive(Debug)]
pub(super) enum SegmentPart {
    Batch { last: u64, is_divisible: bool },
    Changes(Vec<ArchivedChange>),
}

/// A segment that is read in order.
pub(super) struct SegmentReader {
    file: Arc<dyn ReadableFile>,
    pub(super) info: SegmentInfo,
    pub(super) schema: ManifestEdit,
    offset: u64,
    batches: u64,
}

impl SegmentReader {
    /// Reads the head and the end of a segment.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged), [`Cause::Version`](crate::Cause::Version); errors of the storage.
    pub(super) fn info(storage: &dyn Storage, number: u64) -> Result<SegmentInfo> {
        let file = storage.open(&segment_name(number))?;
        let damaged =
            |at: u64| Error::damaged(file.path(), at, "it is not this segment of an archive, or it is damaged");
        let head_bytes = (HEADER_BYTES + CHECKSUM_BYTES) as u64;
        let footer_bytes = (FOOTER_BYTES + FRAME_BYTES) as u64;
        let Some(at) = file.len().checked_sub(footer_bytes).filter(|&at| at >= head_bytes) else {
            return Err(damaged(0));
        };
        let bytes = read(&*file, 0, HEADER_BYTES + CHECKSUM_BYTES)?;
        let [store, own, chain, after_backup, start] = [16, 24, 32, 40, 48].map(|at| word(&bytes, at));
        let head = SegmentHead { store, number, chain, after_backup, start };
        if !bytes.starts_with(&ARCHIVE_MAGIC) || own != number || !check(head.identity(), 0, &bytes) {
            return Err(damaged(0));
        }
        let version = word(&bytes, 8) as u32;
        if version != VERSION {
            return Err(Error::version(file.path(), version, VERSION));
        }
        let bytes = read(&*file, at, FOOTER_BYTES + FRAME_BYTES)?;
        let body = bytes.get(4..4 + FOOTER_BYTES).unwrap_or_default();
        let is_whole = check(head.identity(), at, &bytes) && word(&bytes, 0) as u32 as usize == FOOTER_BYTES;
        let end = SegmentEnd::decode(body).filter(|end| is_whole && end.end >= start).ok_or_else(|| damaged(at))?;
        Ok(SegmentInfo { head, end, bytes: file.len() })
    }

    /// # Errors
    /// As [`Self::info`].
    pub(super) fn open(storage: &dyn Storage, number: u64) -> Result<Self> {
        let info = Self::info(storage, number)?;
        let file = storage.open(&segment_name(number))?;
        let offset = (HEADER_BYTES + CHECKSUM_BYTES) as u64;
        let mut reader = Self { file, info, schema: ManifestEdit::default(), offset, batches: 0 };
        let body = reader.frame()?;
        let schema = body.strip_prefix(&[SCHEMA]).and_then(ManifestEdit::decode);
        reader.schema = schema.ok_or_else(|| reader.damaged("its list of keyspaces is malformed"))?;
        Ok(reader)
    }

    fn damaged(&self, detail: &str) -> Error {
        Error::damaged(self.file.path(), self.offset, detail)
    }

    /// The body of the next frame.
    fn frame(&mut self) -> Result<Vec<u8>> {
        let left = self.file.len().saturating_sub(self.offset);
        let torn = |reader: &Self| reader.damaged("a frame does not match its checksum");
        if left < FRAME_BYTES as u64 {
            return Err(torn(self));
        }
        let length = read(&*self.file, self.offset, 4)?;
        let length = length.first_chunk().map_or(0, |length| u32::from_le_bytes(*length)) as usize + FRAME_BYTES;
        if length as u64 > left {
            return Err(torn(self));
        }
        let mut frame = read(&*self.file, self.offset, length)?;
        if !check(self.info.head.identity(), self.offset, &frame) {
            return Err(torn(self));
        }
        self.offset += length as u64;
        frame.truncate(length - CHECKSUM_BYTES);
        frame.drain(..4);
        Ok(frame)
    }

    /// The next part; `None` at the end.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged); errors of the storage.
    pub(super) fn next(&mut self) -> Result<Option<SegmentPart>> {
        let body = self.frame()?;
        match body.split_first() {
            Some((&BATCH, body)) => {
                let (&flag, rest) = body.split_first().unwrap_or((&0, body));
                let last = take_varint(rest, &mut 0).ok_or_else(|| self.damaged("a batch is malformed"))?;
                self.batches += 1;
                Ok(Some(SegmentPart::Batch { last, is_divisible: flag == 1 }))
            }
            Some((&CHANGES, body)) if self.batches > 0 => {
                let changes = decode_changes(body).ok_or_else(|| self.damaged("a change is malformed"))?;
                Ok(Some(SegmentPart::Changes(changes)))
            }
            Some((&FOOTER, _)) if self.offset == self.file.len() && self.batches == self.info.end.batches => Ok(None),
            _ => Err(self.damaged("it has a frame of no known kind, or too few of them")),
        }
    }
}

fn read(file: &dyn ReadableFile, offset: u64, length: usize) -> Result<Vec<u8>> {
    let mut buffer = vec![0; length];
    file.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Walk })?;
    Ok(buffer)
}

fn decode_changes(body: &[u8]) -> Option<Vec<ArchivedChange>> {
    let (mut changes, at, mut last): (Vec<_>, _, Option<Arc<str>>) = (Vec::new(), &mut 0, None);
    while *at < body.len() {
        let (kind, is_same) = (*body.get(*at)?, *body.get(*at + 1)?);
        *at += 2;
        let keyspace = match is_same {
            0 => Arc::from(std::str::from_utf8(take_bytes(body, at)?).ok()?),
            1 => last?,
            _ => return None,
        };
        let mut part = || Some(take_bytes(body, at)?.to_vec());
        let action = match kind {
            INSERT => ArchivedAction::Insert(part()?, part()?, None),
            INSERT_EXPIRING => {
                let (key, value, expires_ms) = (part()?, part()?, part()?);
                ArchivedAction::Insert(key, value, Some(u64::from_le_bytes(expires_ms.try_into().ok()?)))
            }
            REMOVE => ArchivedAction::Remove(part()?),
            REMOVE_RANGE => ArchivedAction::RemoveRange(part()?, part()?),
            DROP => ArchivedAction::Drop,
            _ => return None,
        };
        last = Some(Arc::clone(&keyspace));
        changes.push(ArchivedChange { keyspace, action });
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryStorage, read_whole};
    use std::sync::Arc;

    fn example(storage: &Arc<dyn Storage>) -> SegmentInfo {
        let head = SegmentHead { store: 0x0123_4567_89ab_cdef, number: 3, chain: 1, after_backup: 0, start: 7 };
        let schema = ManifestEdit { keyspaces_created: vec![(0, "default".to_owned())], ..ManifestEdit::default() };
        let mut writer = ArchiveWriter::create(storage, head, &schema).unwrap();
        writer.batch(9, false).unwrap();
        let keyspace: Arc<str> = "default".into();
        let (key, value) = (b"a".to_vec(), b"b".to_vec());
        let insert = Change::Insert { keyspace: Arc::clone(&keyspace), key, value, expires: None };
        writer.change(&insert).unwrap();
        writer.change(&Change::Remove { keyspace, key: b"c".to_vec() }).unwrap();
        writer.finish(9, 1_790_000_000_000).unwrap()
    }

    #[test]
    fn the_example_of_the_document_is_what_is_written_and_read() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let info = example(&storage);
        let written = read_whole(&*storage.open("000003.archive").unwrap(), Purpose::Walk).unwrap();
        let document = include_str!("../../../../docs/format/backup.md");
        let dump = document.split("```hex segment\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let words = dump.lines().flat_map(|line| line.split_whitespace().skip(1));
        let bytes: Vec<u8> = words.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        let shown = written.chunks(16).enumerate().map(|(row, bytes)| {
            let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{:08x}  {}\n", row * 16, bytes.join(" "))
        });
        assert_eq!(bytes, written, "\n{}", shown.collect::<String>());
        assert_eq!(SegmentReader::info(&*storage, 3).unwrap(), info);
        let mut reader = SegmentReader::open(&*storage, 3).unwrap();
        assert_eq!(reader.schema.keyspaces_created, [(0, "default".to_owned())]);
        assert!(matches!(reader.next().unwrap(), Some(SegmentPart::Batch { last: 9, is_divisible: false })));
        let Some(SegmentPart::Changes(changes)) = reader.next().unwrap() else { panic!("no changes") };
        let actions: Vec<ArchivedAction> = changes.into_iter().map(|change| change.action).collect();
        let expected = [ArchivedAction::Insert(b"a".into(), b"b".into(), None), ArchivedAction::Remove(b"c".into())];
        assert_eq!(actions, expected);
        assert!(reader.next().unwrap().is_none());
    }

    #[test]
    fn a_change_that_was_cut_or_is_of_no_known_kind_is_none() {
        let code = [INSERT, 0, 1, b'k', 1, b'a', 2, b'b', b'c', DROP, 1];
        assert_eq!(decode_changes(&code).map(|changes| changes.len()), Some(2));
        for cut in (1..code.len()).filter(|&cut| cut != 9) {
            assert_eq!(decode_changes(&code[..cut]), None, "{cut}");
        }
        for wrong in [&[9, 0, 1, b'k'][..], &[DROP, 1], &[DROP, 2], &[DROP, 0, 1, 0xff], &[REMOVE, 0, 1, b'k', 9]] {
            assert_eq!(decode_changes(wrong), None, "{wrong:?}");
        }
    }
}
