//! Inputs without their compression and their encoding: gzip and Zstandard by their first bytes, and UTF-16 with a byte
//! order mark as UTF-8.
//!
//! Nothing is read before the first read, so that an input that is only opened takes nothing from a pipe. Memory does
//! not depend on the ratio of compression.

use super::pipe::{FileState, InputFile};
use crate::interrupt;
use flate2::bufread::GzDecoder;
use std::fmt;
use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of the input that a decoder takes at a time.
const COMPRESSED_PIECE_BYTES: usize = 64 << 10;
/// Code units of UTF-16 that are decoded at a time.
const UNITS_A_PIECE: usize = 32 << 10;
/// Length of the longest magic number, and more than that of a byte order mark.
const MAGIC_BYTES: usize = 4;

const GZIP_MAGIC: &[u8] = b"\x1f\x8b";
const ZSTD_MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";
/// What the decoder says of a window that is longer than those that it takes, of 128 MiB.
const ZSTD_WINDOW_ERROR: &str = "too much memory";
/// A frame that readers skip, as parallel compressors write them first: 0x184D2A5? in little-endian order.
const ZSTD_SKIPPABLE_MAGIC: &[u8] = b"\x2a\x4d\x18";

/// A compression that is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// The compression of a file by its first bytes.
    pub(crate) fn of(first: &[u8]) -> Option<Self> {
        if first.starts_with(GZIP_MAGIC) {
            return Some(Self::Gzip);
        }
        let is_skippable =
            first.first().is_some_and(|byte| byte & 0xf0 == 0x50) && first[1..].starts_with(ZSTD_SKIPPABLE_MAGIC);
        (first.starts_with(ZSTD_MAGIC) || is_skippable).then_some(Self::Zstd)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
        }
    }
}

/// What is decoded of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoding {
    /// Its compression.
    Bytes,
    /// Its compression, and UTF-16.
    Text,
}

/// An input that is decoded while it is read.
pub(crate) struct DecodedInput {
    stage: Stage,
    decoding: Decoding,
    compression: Option<Compression>,
    length_bytes: Option<u64>,
    state: Option<FileState>,
    raw: Arc<RawReads>,
    /// Bytes that were decoded, if one of zero among them is an error.
    checked_bytes: Option<u64>,
}

enum Stage {
    Unread(Counted<Box<dyn Read + Send>>),
    Reading(Box<dyn Read + Send>),
    /// It has failed.
    Ended,
}

/// What was read of the input itself.
#[derive(Debug, Default)]
pub(crate) struct RawReads {
    bytes: AtomicU64,
    has_failed: AtomicBool,
}

impl RawReads {
    /// Bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for DecodedInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DecodedInput").field("compression", &self.compression).field("raw", &self.raw).finish()
    }
}

impl DecodedInput {
    /// Opens a file. Errors of a pipe are reported when it is read.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn open(path: &Path, decoding: Decoding) -> io::Result<Self> {
        let file = InputFile::open(path)?;
        let (length_bytes, state) = (file.length_bytes()?, file.state());
        Ok(Self { state, ..Self::new(Box::new(file), length_bytes, decoding) })
    }

    /// The bytes of a reader, decoded.
    pub(crate) fn new(reader: Box<dyn Read + Send>, length_bytes: Option<u64>, decoding: Decoding) -> Self {
        let raw = Arc::new(RawReads::default());
        let stage = Stage::Unread(Counted { reader, raw: Arc::clone(&raw) });
        Self { stage, decoding, compression: None, length_bytes, state: None, raw, checked_bytes: None }
    }

    /// The same input, in which a byte of zero is an error: it was taken for text by its first bytes.
    pub(crate) fn without_zeros(self) -> Self {
        Self { checked_bytes: Some(0), ..self }
    }

    /// The compression, once something was read.
    pub(crate) fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The length of the input itself in bytes, if it has one.
    pub(crate) fn length_bytes(&self) -> Option<u64> {
        self.length_bytes
    }

    /// What shows that a file was changed since it was opened.
    pub(crate) fn state(&self) -> Option<FileState> {
        self.state
    }

    /// What is read of the input itself, which is what its length is compared with.
    pub(crate) fn raw_reads(&self) -> Arc<RawReads> {
        Arc::clone(&self.raw)
    }

    fn start(&mut self, raw: Counted<Box<dyn Read + Send>>) -> io::Result<Box<dyn Read + Send>> {
        let (first, raw) = peeked(raw)?;
        self.compression = Compression::of(&first);
        let (first, bytes): (_, Box<dyn Read + Send>) = match self.compression {
            None => (first, Box::new(raw)),
            Some(compression) => {
                let (first, bytes) = peeked(decoder(compression, raw)?)?;
                (first, Box::new(bytes))
            }
        };
        Ok(match first[..] {
            _ if self.decoding == Decoding::Bytes => bytes,
            [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
                let detail = "it is UTF-32; pipe it in, as in `iconv -f UTF-32 -t UTF-8 FILE | ogive build - -o TABLE`";
                return Err(io::Error::new(ErrorKind::Unsupported, detail));
            }
            [0xff, 0xfe, ..] => Box::new(Utf16Reader::new(bytes, u16::from_le_bytes)),
            [0xfe, 0xff, ..] => Box::new(Utf16Reader::new(bytes, u16::from_be_bytes)),
            _ => bytes,
        })
    }

    /// Refuses bytes of zero among those that were decoded, if it is to be text.
    fn check(&mut self, decoded: &[u8]) -> io::Result<()> {
        let Some(checked) = &mut self.checked_bytes else { return Ok(()) };
        if decoded.contains(&0) {
            let offset = *checked + decoded.iter().take_while(|byte| **byte != 0).count() as u64;
            let detail = format!("byte {offset} of its text is zero, so it is no text; --format lines reads it");
            return Err(io::Error::new(ErrorKind::InvalidData, detail));
        }
        *checked += decoded.len() as u64;
        Ok(())
    }

    /// Says where compressed data are damaged, unless the input itself cannot be read.
    fn explain(&self, error: io::Error) -> io::Error {
        match self.compression {
            Some(Compression::Zstd) if error.to_string().contains(ZSTD_WINDOW_ERROR) => {
                let detail = "its Zstandard window is longer than 128 MiB, which takes as much memory; pipe it in, as \
                              in `zstd -dc --long=31 FILE | ogive build - -o TABLE`";
                io::Error::new(ErrorKind::Unsupported, detail)
            }
            Some(compression) if !self.raw.has_failed.load(Ordering::Relaxed) => {
                let (name, bytes) = (compression.name(), self.raw.bytes());
                let what = if error.kind() == ErrorKind::UnexpectedEof { "are cut off" } else { "are damaged" };
                io::Error::new(
                    ErrorKind::InvalidData,
                    format!("its {name} data {what} at or before byte {bytes}: {error}"),
                )
            }
            _ => error,
        }
    }
}

impl Read for DecodedInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Little of a compressed input may become much.
        interrupt::check_reading()?;
        let mut reader = match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Unread(raw) => self.start(raw).map_err(|error| self.explain(error))?,
            Stage::Reading(reader) => reader,
            Stage::Ended => return Err(io::Error::other("it was not read to its end")),
        };
        match reader.read(buffer) {
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(self.explain(error)),
            read => {
                let length = *read.as_ref().unwrap_or(&0);
                self.check(&buffer[..length])?;
                self.stage = Stage::Reading(reader);
                read
            }
        }
    }
}

/// The decoder of a compression.
fn decoder(compression: Compression, raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    match compression {
        Compression::Gzip => {
            let raw = BufReader::with_capacity(COMPRESSED_PIECE_BYTES, raw);
            Ok(Box::new(GzipMembers { member: Some(GzDecoder::new(raw)) }))
        }
        #[cfg(feature = "zstd")]
        Compression::Zstd => Ok(Box::new(zstd::stream::read::Decoder::new(raw)?)),
        #[cfg(not(feature = "zstd"))]
        Compression::Zstd => {
            let detail = "it is compressed by Zstandard, and this ogive was built without it (--features zstd); pipe \
                          it in, as in `zstd -dc FILE | ogive build - -o TABLE`";
            Err(io::Error::new(ErrorKind::Unsupported, detail))
        }
    }
}

/// The members of a gzip input, one after another. Zeros behind them are no data, as gzip(1) has it: they fill the last
/// block of a tape.
struct GzipMembers<R> {
    /// `None` behind the last one.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if let Some(member) = self.member.take() {
                let mut rest = member.into_inner();
                self.member = has_member(&mut rest)?.then(|| GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

/// Whether there is more behind a member than zeros.
fn has_member(rest: &mut impl BufRead) -> io::Result<bool> {
    let mut is_padded = false;
    loop {
        let piece = match rest.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        let (length, zeros) = (piece.len(), piece.iter().take_while(|byte| **byte == 0).count());
        rest.consume(zeros);
        is_padded |= zeros > 0;
        match zeros < length {
            true if is_padded => {
                return Err(io::Error::new(ErrorKind::InvalidData, "there are bytes behind the zeros at its end"));
            }
            true => return Ok(true),
            false if length == 0 => return Ok(false),
            false => {}
        }
    }
}

/// A reader from its start on, although its first bytes were read. They come by one read, so that a byte order mark
/// is not divided.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// The first bytes of a reader, and a reader of all of them.
fn peeked<R: Read>(mut reader: R) -> io::Result<(Vec<u8>, Whole<R>)> {
    let mut first = Vec::with_capacity(MAGIC_BYTES);
    reader.by_ref().take(MAGIC_BYTES as u64).read_to_end(&mut first)?;
    Ok((first.clone(), Cursor::new(first).chain(reader)))
}

/// Counts what is read.
struct Counted<R> {
    reader: R,
    raw: Arc<RawReads>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        match &read {
            Ok(length) => _ = self.raw.bytes.fetch_add(*length as u64, Ordering::Relaxed),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.raw.has_failed.store(true, Ordering::Relaxed),
        }
        read
    }
}

/// UTF-16 as UTF-8. A surrogate without its other half is an error.
struct Utf16Reader<R> {
    reader: R,
    unit: fn([u8; 2]) -> u16,
    text: Cursor<Vec<u8>>,
    /// The first half of a pair, whose other half was not read yet.
    high: Option<u16>,
}

impl<R: Read> Utf16Reader<R> {
    fn new(reader: R, unit: fn([u8; 2]) -> u16) -> Self {
        Self { reader, unit, text: Cursor::default(), high: None }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(2 * UNITS_A_PIECE);
        self.reader.by_ref().take(2 * UNITS_A_PIECE as u64).read_to_end(&mut bytes)?;
        let is_last = bytes.len() < 2 * UNITS_A_PIECE;
        let (pairs, odd) = bytes.as_chunks::<2>();
        if !odd.is_empty() {
            return Err(io::Error::new(ErrorKind::InvalidData, "its UTF-16 ends within a character"));
        }
        let mut units: Vec<u16> =
            self.high.take().into_iter().chain(pairs.iter().map(|pair| (self.unit)(*pair))).collect();
        if !is_last {
            self.high = units.pop_if(|unit| (0xd800..0xdc00).contains(unit));
        }
        let text = String::from_utf16(&units).map_err(|_| {
            io::Error::new(ErrorKind::InvalidData, "its UTF-16 has half of a surrogate pair, which is no character")
        })?;
        self.text = Cursor::new(text.into_bytes());
        Ok(())
    }
}

impl<R: Read> Read for Utf16Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        self.fill()?;
        self.text.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn decoded(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut read = Vec::new();
        DecodedInput::new(Box::new(Cursor::new(bytes)), None, Decoding::Text).read_to_end(&mut read).map(|_| read)
    }

    fn gzipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn several_members_are_one_input() {
        let parts = [gzipped(b"a,b\n1,"), gzipped(b""), gzipped(b"2\n")].concat();
        let padded = |zeros: usize| [&parts[..], &vec![0; zeros]].concat();
        for zeros in [0, 1, 3, 512, 2 * COMPRESSED_PIECE_BYTES] {
            assert_eq!(decoded(padded(zeros)).unwrap(), b"a,b\n1,2\n");
        }
        assert!(decoded([padded(512), gzipped(b"2\n")].concat()).is_err());
    }

    #[test]
    fn a_cut_or_damaged_stream_is_told_with_its_offset() {
        let whole = gzipped(&b"0123456789".repeat(5_000));
        for end in [3, 12, whole.len() / 2, whole.len() - 1] {
            let error = decoded(whole[..end].to_vec()).unwrap_err().to_string();
            assert!(error.contains("gzip") && error.contains(&format!("byte {end}")), "{error}");
        }
        let mut damaged = whole.clone();
        let last = damaged.len() - 6;
        damaged[last] ^= 1;
        assert!(decoded(damaged).unwrap_err().to_string().contains("are damaged"));
        assert!(decoded([whole, b"and more".to_vec()].concat()).is_err());
    }

    #[test]
    fn utf_16_becomes_utf_8_wherever_pieces_end() {
        for text in ["", "k;v\nä;1\n", &"😀x".repeat(UNITS_A_PIECE)] {
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            for bytes in [[&[0xff, 0xfe], &little[..]].concat(), [&[0xfe, 0xff], &big[..]].concat()] {
                // The byte order mark stays, as that of UTF-8 does.
                assert_eq!(String::from_utf8(decoded(bytes.clone()).unwrap()).unwrap(), format!("\u{feff}{text}"));
                assert_eq!(decoded(gzipped(&bytes)).unwrap(), decoded(bytes).unwrap());
            }
        }
        assert!(decoded(vec![0xff, 0xfe, b'a']).is_err());
        assert!(decoded(vec![0xff, 0xfe, 0x00, 0xd8, b'a', 0]).is_err());
    }
}
