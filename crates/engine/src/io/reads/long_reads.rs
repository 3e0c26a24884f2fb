//! Long reads: files that are read whole, in pieces of several megabytes, many of them in flight before they are
//! needed.
//!
//! A verification reads a file in small parts, some of them twice. On an object store each part would be a request with
//! its latency; here it is copied from a piece:
//!
//! ```text
//! plan:   end of file 1 | piece 0 | piece 1 | piece 2 | piece 3 | end of file 2 | piece 0 | ...
//!         '---- used: kept while there is room ---'     '---- in flight ----'     '- not begun
//! ```
//!
//! The *plan* has the files in the order of their use, the end of each first, where tables begin to be read. A part
//! outside of the plan is read when it is asked for, and what follows it is read ahead. Memory is bounded: pieces that
//! were used make room for others, the longest unused first.

use super::read_ahead::{PendingReads, RangeRequest, ReadBuffer, read_at_once};
use crate::error::{Error, Result};
use crate::io::profile::curve::Profile;
use crate::io::storage::request::{Purpose, ReadRequest};
use crate::io::storage::traits::{ReadableFile, Storage, check_bounds, check_range};
use crate::io::storage::wrapper::StorageWrapper;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Limits of the length of a piece in bytes: a shorter one pays nowhere, and a longer one gains little.
const PIECE_BYTES: (u64, u64) = (256 << 10, 8 << 20);

/// A piece is so long that it takes this many times as long as the shortest read: then most of its time moves bytes.
const LATENCIES: f64 = 3.0;

/// Pieces that fit into memory, at least: one that is used, one in flight, and the end of the file.
const PIECES_MIN: u64 = 4;

/// The profile of object stores that state none.
const OBJECTS_PROFILE: &str = "s3";

/// How long the pieces are, and how many of them are read and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceShape {
    /// Length of a piece in bytes, up to half more or less.
    piece_bytes: u64,
    in_flight: usize,
    /// Bytes of all pieces, kept or in flight.
    held_bytes_max: u64,
}

impl PieceShape {
    /// The pieces of the files of a storage, within about this much memory; `None` where short reads are as good, since
    /// the system reads ahead.
    pub(crate) fn for_storage(storage: &dyn Storage, memory_bytes: u64) -> Option<Self> {
        if !storage.is_object_store() {
            return None;
        }
        let profile = storage.profile().cloned().or_else(|| Profile::named(OBJECTS_PROFILE).ok())?;
        Some(Self::of(&profile, memory_bytes))
    }

    /// The pieces that pay on a storage of this profile, within about this much memory (at least 1 MiB).
    fn of(profile: &Profile, memory_bytes: u64) -> Self {
        let held_bytes_max = memory_bytes.max(PIECES_MIN * PIECE_BYTES.0);
        let least_us = LATENCIES * profile.time_us(0);
        let mut piece_bytes = PIECE_BYTES.0;
        while piece_bytes < PIECE_BYTES.1.min(held_bytes_max / PIECES_MIN) && profile.time_us(piece_bytes) < least_us {
            piece_bytes *= 2;
        }
        let fitting = held_bytes_max / piece_bytes / 2;
        Self { piece_bytes, in_flight: u64::from(profile.parallel()).min(fitting).max(1) as usize, held_bytes_max }
    }

    /// The number of pieces of a file, and the length of each but the last.
    fn of_file(self, length_bytes: u64) -> (u64, u64) {
        let count = (length_bytes.saturating_add(self.piece_bytes / 2) / self.piece_bytes).max(1);
        (count, length_bytes.div_ceil(count).max(1))
    }
}

/// The pieces of several files.
#[derive(Debug)]
pub(crate) struct LongPieces {
    shape: PieceShape,
    /// The digest of a piece, which is taken when it arrives for the first time.
    digest: Option<fn(&[u8]) -> u32>,
    state: Mutex<PiecesState>,
}

#[derive(Debug, Default)]
struct PiecesState {
    files: Vec<PiecedFile>,
    /// The pieces to be read next: the number of the file, and that of the piece.
    plan: VecDeque<PieceId>,
    held: BTreeMap<PieceId, HeldPiece>,
    held_bytes: u64,
    in_flight: usize,
    /// Number of uses so far.
    uses: u64,
}

type PieceId = (usize, u64);

#[derive(Debug)]
struct PiecedFile {
    inner: Arc<dyn ReadableFile>,
    piece_bytes: u64,
    /// Digests of the pieces that have arrived.
    digests: Vec<Option<u32>>,
    /// Whether a piece was begun.
    is_begun: Vec<bool>,
    /// The piece that was asked for last.
    last: Option<u64>,
}

impl PiecedFile {
    fn range(&self, index: u64) -> (u64, usize) {
        let offset = index * self.piece_bytes;
        (offset, self.piece_bytes.min(self.inner.len() - offset) as usize)
    }
}

#[derive(Debug)]
enum HeldPiece {
    InFlight(Box<dyn PendingReads>),
    /// With the number of its last use.
    Arrived(Arc<ReadBuffer>, u64),
}

impl PiecesState {
    fn length_of(&self, (file, index): PieceId) -> u64 {
        self.files[file].range(index).1 as u64
    }

    /// Drops used pieces until a number of bytes fits below a limit; `false` if that is not enough.
    fn make_room(&mut self, bytes: u64, limit_bytes: u64) -> bool {
        while self.held_bytes + bytes > limit_bytes {
            let used = self.held.iter().filter_map(|(&id, piece)| match piece {
                HeldPiece::Arrived(_, used_at) => Some((*used_at, id)),
                HeldPiece::InFlight(_) => None,
            });
            let Some((_, oldest)) = used.min() else { return false };
            self.drop_piece(oldest);
        }
        true
    }

    fn drop_piece(&mut self, id: PieceId) {
        if let Some(piece) = self.held.remove(&id) {
            self.held_bytes -= self.length_of(id);
            self.in_flight -= usize::from(matches!(piece, HeldPiece::InFlight(_)));
        }
    }

    fn begin(&mut self, id: PieceId) -> Result<()> {
        let file = &mut self.files[id.0];
        let (offset, bytes) = file.range(id.1);
        let pending = file.inner.start_reads(&[RangeRequest { offset, bytes, purpose: Purpose::Walk }])?;
        file.is_begun[id.1 as usize] = true;
        self.held.insert(id, HeldPiece::InFlight(pending));
        self.held_bytes += bytes as u64;
        self.in_flight += 1;
        Ok(())
    }

    /// Begins a piece before it is asked for; `false` if there is no room, or it fails: then that is told when it is
    /// asked for.
    fn begin_ahead(&mut self, id: PieceId, shape: PieceShape) -> bool {
        let bytes = self.length_of(id);
        // One piece that is asked for always has room.
        let limit_bytes = shape.held_bytes_max - 3 * shape.piece_bytes / 2;
        self.in_flight < shape.in_flight && self.make_room(bytes, limit_bytes) && self.begin(id).is_ok()
    }

    /// Begins what is needed after a piece: if it is outside of the plan and its file is read in order, the next pieces
    /// of the file; then those of the plan.
    fn read_ahead(&mut self, (file, index): PieceId, is_outside: bool, shape: PieceShape) {
        let in_order = self.files[file].last.replace(index).is_none_or(|last| last + 1 == index);
        let pieces = self.files[file].is_begun.len() as u64;
        let ahead = if in_order && is_outside { shape.in_flight } else { 0 };
        for next in (index + 1..pieces).take(ahead) {
            if !self.held.contains_key(&(file, next)) && !self.begin_ahead((file, next), shape) {
                return;
            }
        }
        while let Some(&planned) = self.plan.front() {
            let is_begun = self.files[planned.0].is_begun[planned.1 as usize];
            if !is_begun && !self.begin_ahead(planned, shape) {
                return;
            }
            self.plan.pop_front();
        }
    }
}

impl LongPieces {
    /// No files yet. `digest` is taken of each piece.
    pub(crate) fn new(shape: PieceShape, digest: Option<fn(&[u8]) -> u32>) -> Arc<Self> {
        Arc::new(Self { shape, digest, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, PiecesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file that is read in pieces, after those before it.
    pub(crate) fn file(self: &Arc<Self>, inner: Arc<dyn ReadableFile>) -> Arc<LongFile> {
        let (count, piece_bytes) = self.shape.of_file(inner.len());
        let mut state = self.state();
        let number = state.files.len();
        state.plan.push_back((number, count - 1));
        state.plan.extend((0..count - 1).map(|index| (number, index)));
        let (digests, is_begun) = (vec![None; count as usize], vec![false; count as usize]);
        state.files.push(PiecedFile { inner: Arc::clone(&inner), piece_bytes, digests, is_begun, last: None });
        Arc::new(LongFile { inner, number, piece_bytes, pieces: Arc::clone(self) })
    }

    /// A piece, when it has arrived.
    fn piece(&self, id: PieceId) -> Result<Arc<ReadBuffer>> {
        let mut state = self.state();
        let state = &mut *state;
        state.uses += 1;
        let now = state.uses;
        if let Some(HeldPiece::Arrived(bytes, used_at)) = state.held.get_mut(&id) {
            *used_at = now;
            return Ok(Arc::clone(bytes));
        }
        let is_outside = !state.held.contains_key(&id);
        if is_outside {
            state.make_room(state.length_of(id), self.shape.held_bytes_max);
            state.begin(id)?;
        }
        state.read_ahead(id, is_outside, self.shape);
        let length = state.length_of(id);
        let Some(HeldPiece::InFlight(pending)) = state.held.remove(&id) else { return Ok(Arc::default()) };
        state.in_flight -= 1;
        state.held_bytes -= length;
        let bytes = Arc::new(pending.wait()?.pop().unwrap_or_default());
        if let Some(digest) = self.digest {
            state.files[id.0].digests[id.1 as usize].get_or_insert_with(|| digest(&bytes));
        }
        state.held_bytes += length;
        state.held.insert(id, HeldPiece::Arrived(Arc::clone(&bytes), now));
        Ok(bytes)
    }

    /// Whether these pieces have arrived already.
    fn have_arrived(&self, file: usize, mut pieces: std::ops::RangeInclusive<u64>) -> bool {
        let state = self.state();
        pieces.all(|index| matches!(state.held.get(&(file, index)), Some(HeldPiece::Arrived(..))))
    }
}

/// A file that is read in pieces.
#[derive(Debug)]
pub(crate) struct LongFile {
    inner: Arc<dyn ReadableFile>,
    number: usize,
    piece_bytes: u64,
    pieces: Arc<LongPieces>,
}

impl LongFile {
    /// The digest and the length of each piece, in order. What was not asked for before is read.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn digests(&self) -> Result<Vec<(u32, u64)>> {
        let count = self.pieces.state().files[self.number].digests.len() as u64;
        let digest = |index| {
            let known = |state: &PiecesState| state.files[self.number].digests[index as usize];
            let length = self.pieces.state().length_of((self.number, index));
            if known(&self.pieces.state()).is_none() && length > 0 {
                self.pieces.piece((self.number, index))?;
            }
            Ok((known(&self.pieces.state()).unwrap_or_default(), length))
        };
        (0..count).map(digest).collect()
    }

    fn pieces_of(&self, offset: u64, bytes: usize) -> std::ops::RangeInclusive<u64> {
        offset / self.piece_bytes..=(offset + (bytes as u64).max(1) - 1) / self.piece_bytes
    }
}

impl ReadableFile for LongFile {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check_range(self.path(), self.len(), &request)?;
        let ReadRequest { mut offset, mut buffer, .. } = request;
        while !buffer.is_empty() {
            let index = offset / self.piece_bytes;
            let piece = self.pieces.piece((self.number, index))?;
            let from = (offset - index * self.piece_bytes) as usize;
            let short = || Error::io("read", self.path(), std::io::ErrorKind::UnexpectedEof.into());
            let found = piece.get(from..).filter(|found| !found.is_empty()).ok_or_else(short)?;
            let length = found.len().min(buffer.len());
            let (filled, rest) = buffer.split_at_mut(length);
            filled.copy_from_slice(&found[..length]);
            (buffer, offset) = (rest, offset + length as u64);
        }
        Ok(())
    }

    /// Values lie scattered, so those that are in no piece yet are read by themselves.
    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        for range in ranges {
            check_bounds(self.path(), self.len(), range.offset, range.bytes)?;
        }
        let has_arrived =
            |range: &RangeRequest| self.pieces.have_arrived(self.number, self.pieces_of(range.offset, range.bytes));
        if ranges.iter().all(|range| range.purpose == Purpose::Value) && !ranges.iter().all(has_arrived) {
            return self.inner.start_reads(ranges);
        }
        read_at_once(ranges, |requests| self.read_many(requests))
    }

    fn modified_ns(&self) -> Option<u64> {
        self.inner.modified_ns()
    }

    fn is_direct(&self) -> bool {
        self.inner.is_direct()
    }

    /// Also drops its pieces.
    fn distrust(&self) -> Option<Error> {
        let mut state = self.pieces.state();
        let held: Vec<PieceId> =
            state.held.range((self.number, 0)..=(self.number, u64::MAX)).map(|(&id, _)| id).collect();
        held.into_iter().for_each(|id| state.drop_piece(id));
        drop(state);
        self.inner.distrust()
    }

    fn is_in_place(&self) -> bool {
        self.inner.is_in_place()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

/// A storage of which some files are read in pieces.
#[derive(Debug)]
pub(crate) struct LongReads {
    inner: Arc<dyn Storage>,
    files: BTreeMap<String, Arc<LongFile>>,
}

impl LongReads {
    /// The files of a storage, of which these are read in pieces, in this order. What cannot be opened is left to who
    /// opens it.
    pub(crate) fn around(inner: &Arc<dyn Storage>, pieces: &Arc<LongPieces>, names: &[String]) -> Self {
        let opened = names.iter().filter_map(|name| Some((name.clone(), pieces.file(inner.open(name).ok()?))));
        Self::of(inner, opened.collect())
    }

    /// The files of a storage, with these in the place of those of their names.
    pub(crate) fn of(inner: &Arc<dyn Storage>, files: BTreeMap<String, Arc<LongFile>>) -> Self {
        Self { inner: Arc::clone(inner), files }
    }
}

impl StorageWrapper for LongReads {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        match self.files.get(name) {
            Some(file) => Ok(Arc::clone(file) as Arc<dyn ReadableFile>),
            None => self.inner.open(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryStorage, Meter};

    fn content(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i * 31 % 253) as u8).collect()
    }

    fn sum(bytes: &[u8]) -> u32 {
        bytes.iter().fold(0, |sum, &byte| sum.wrapping_add(u32::from(byte)))
    }

    fn read(file: &LongFile, offset: u64, bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0; bytes];
        file.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Walk }).unwrap();
        buffer
    }

    /// Files of these lengths behind a meter.
    fn files(lengths: &[usize], shape: PieceShape) -> (Meter, Arc<LongPieces>, Vec<Arc<LongFile>>) {
        let memory = MemoryStorage::new();
        let meter = Meter::new(Arc::new(memory.clone()));
        let pieces = LongPieces::new(shape, Some(sum));
        let open = |(number, &length): (usize, &usize)| {
            let name = number.to_string();
            memory.put(&name, content(length)).unwrap();
            pieces.file(Storage::open(&meter, &name).unwrap())
        };
        let files = lengths.iter().enumerate().map(open).collect();
        (meter, pieces, files)
    }

    #[test]
    fn pieces_are_as_long_as_pays_and_fit_into_memory() {
        let s3 = Profile::named("s3").unwrap();
        let shape = PieceShape::of(&s3, 128 << 20);
        assert_eq!((shape.piece_bytes, shape.in_flight), (8 << 20, 8));
        assert_eq!(PieceShape::of(&s3, 0).piece_bytes, 256 << 10);
        assert_eq!(PieceShape::of(&s3, 16 << 20).piece_bytes, 4 << 20);
        assert_eq!(PieceShape::of(&Profile::named("nvme").unwrap(), 128 << 20).piece_bytes, 256 << 10);
        for length in [0, 1, 5_000, 12 << 20, (12 << 20) - 1, 1 << 40] {
            let (count, piece_bytes) = shape.of_file(length);
            assert!(count * piece_bytes >= length && piece_bytes <= 3 * shape.piece_bytes / 2, "{length}");
        }
    }

    #[test]
    fn files_are_read_once_in_any_small_parts_within_memory() {
        let shape = PieceShape { piece_bytes: 1000, in_flight: 3, held_bytes_max: 6000 };
        let lengths = [10_500, 300, 0, 4_000];
        let (meter, pieces, files) = files(&lengths, shape);
        for (file, &length) in files.iter().zip(&lengths) {
            // The end first, as of a table.
            let tail = length.min(50);
            assert_eq!(read(file, (length - tail) as u64, tail), content(length)[length - tail..]);
            for from in (0..length).step_by(77) {
                let bytes = 77.min(length - from);
                assert_eq!(read(file, from as u64, bytes), content(length)[from..from + bytes]);
                assert!(pieces.state().held_bytes <= shape.held_bytes_max);
            }
            let digests = file.digests().unwrap();
            let sums = digests.iter().fold(0_u32, |all, (digest, _)| all.wrapping_add(*digest));
            assert_eq!(sums, sum(&content(length)));
            assert_eq!(digests.iter().map(|(_, bytes)| bytes).sum::<u64>(), length as u64);
        }
        // Of the longest file, which does not fit into memory, the end is read twice.
        let reads = meter.reset().reads;
        assert!((14_800..=14_800 + 1_000).contains(&reads.bytes) && reads.requests <= 11 + 1 + 4 + 1, "{reads:?}");
    }

    #[test]
    fn what_was_dropped_or_distrusted_is_read_again_and_past_the_end_is_an_error() {
        let shape = PieceShape { piece_bytes: 1000, in_flight: 2, held_bytes_max: 4000 };
        let (meter, _, files) = files(&[20_000], shape);
        let mut random = 1_u64;
        for _ in 0..500 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (offset, bytes) = ((random >> 33) % 20_000, (random >> 20) as usize % 2500);
            let bytes = bytes.min(20_000 - offset as usize);
            assert_eq!(read(&files[0], offset, bytes), content(20_000)[offset as usize..][..bytes]);
        }
        read(&files[0], 0, 10);
        meter.reset();
        read(&files[0], 0, 10);
        assert_eq!(meter.reset().reads.requests, 0);
        files[0].distrust();
        read(&files[0], 0, 10);
        assert!(meter.reset().reads.requests > 0);
        let past = ReadRequest { offset: 19_999, buffer: &mut [0; 2], purpose: Purpose::Walk };
        assert!(files[0].read(past).is_err());
    }
}
