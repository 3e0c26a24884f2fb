//! Recognition of inputs by their first bytes. Names are asked only where these say nothing: read as lines of text, a
//! file of another format would silently become keys.

use super::format::Format;
use super::printed::printed;
use ogive_text::BYTE_ORDER_MARK;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes of an input, decoded, by which it is recognised.
pub(super) const HEAD_BYTES: u64 = 64 << 10;
/// Rows by which separated fields are recognised, at most.
const ROWS_MAX: usize = 100;
/// The byte that separates fields in text of Hive, which has no header.
pub(super) const HIVE_DELIMITER: u8 = 1;
/// How text of Hive writes a null.
pub(super) const HIVE_NULL: &str = "\\N";
/// Bytes that separate fields, in the order of preference.
const DELIMITERS: [u8; 5] = [b',', b';', b'\t', b'|', HIVE_DELIMITER];

/// If 9 of 10 rows have as many fields as the first one, the others are mistakes.
const MOST: usize = 9;
const MOST_OF: usize = 10;

/// What a file is that is no input, and what to do with it.
pub(super) type ForeignFormat = (&'static str, &'static str);

const PACKED: ForeignFormat = (
    "is an archive",
    "unpack it, or pipe one of its files in, as in `unzip -p FILE NAME | ogive build - --format csv -o TABLE`",
);
const SEVEN_ZIP: ForeignFormat =
    ("is an archive of 7-Zip", "pipe a file of it in, as in `7z x -so FILE | ogive build - --format csv -o TABLE`");
const BZIP2: ForeignFormat =
    ("is compressed by bzip2", "pipe it in, as in `bzip2 -dc FILE | ogive build - --format csv -o TABLE`");
const XZ: ForeignFormat =
    ("is compressed by xz", "pipe it in, as in `xz -dc FILE | ogive build - --format csv -o TABLE`");
const LZ4: ForeignFormat =
    ("is compressed by LZ4", "pipe it in, as in `lz4 -dc FILE | ogive build - --format csv -o TABLE`");
const SHEET: ForeignFormat =
    ("is a spreadsheet", "save it as CSV, or convert it, as in `libreoffice --convert-to csv FILE`");
const ARROW: ForeignFormat = (
    "is an Arrow file",
    "write it as Parquet, as in `python -c 'import polars; polars.read_ipc(\"FILE\").write_parquet(\"OUT.parquet\")'`",
);
const AVRO: ForeignFormat = (
    "is an Avro file",
    "write it as Parquet, as in `python -c 'import polars; polars.read_avro(\"FILE\").write_parquet(\"OUT.parquet\")'`",
);
const ORC: ForeignFormat = (
    "is an ORC file",
    "write it as Parquet, as in `python -c 'import pandas; pandas.read_orc(\"FILE\").to_parquet(\"OUT.parquet\")'`",
);
const SQLITE: ForeignFormat = (
    "is a database of SQLite",
    "`ogive-import FILE STORE` makes a keyspace of each of its tables (cargo install --path import); or pipe one in, \
     as in `sqlite3 -csv -header FILE 'select * from NAME' | ogive build - -o TABLE`",
);
const DUCKDB: ForeignFormat =
    ("is a database of DuckDB", "write a table of it as Parquet, as in `duckdb FILE \"copy NAME to 'NAME.parquet'\"`");
const PG_DUMP: ForeignFormat = (
    "is a dump of pg_dump in its own format",
    "write a table of it as CSV: restore it with `pg_restore -d DATABASE FILE`, then \
     `psql DATABASE -c 'copy NAME to stdout csv header' | ogive build - -o TABLE`",
);
const REDB: ForeignFormat =
    ("is a database of redb", "write its records as CSV or JSON lines with the program that made it");
const LMDB: ForeignFormat = (
    "is a database of LMDB",
    "`ogive-import FILE STORE` makes a keyspace of each of its databases (cargo install --path import)",
);
const SORTED_STRINGS: ForeignFormat = (
    "is a table of RocksDB or LevelDB",
    "`ogive-import FOLDER STORE` reads a whole folder of RocksDB (cargo install --path import --features rocksdb); or \
     write its records as text, as in `sst_dump --file=FILE --command=scan`, and convert those to CSV",
);
const LMDB_FOLDER: ForeignFormat = (
    "is an environment of LMDB",
    "`ogive-import FOLDER STORE` makes a keyspace of each of its databases (cargo install --path import)",
);
const ROCKSDB_FOLDER: ForeignFormat = (
    "is a folder of RocksDB or LevelDB",
    "`ogive-import FOLDER STORE` makes a keyspace of each column family of RocksDB (cargo install --path import \
     --features rocksdb)",
);
const HDF5: ForeignFormat = ("is an HDF5 file", "write the data as Parquet or CSV first");
const PICTURE: ForeignFormat =
    ("is a picture or a document, and no data", "give a file of CSV, TSV, JSON, Parquet or text");
const BINARY: ForeignFormat = ("contains bytes of zero, so it is no text", "convert it to CSV, JSON lines or Parquet");
const UNKNOWN: ForeignFormat =
    ("is neither text nor of a format that is read", "convert it to CSV, JSON lines or Parquet");
const UTF_16_LITTLE: ForeignFormat = (
    "is UTF-16 without a byte order mark",
    "convert it, as in `iconv -f UTF-16LE -t UTF-8 FILE | ogive build - --format csv -o TABLE`",
);
const UTF_16_BIG: ForeignFormat = (
    "is UTF-16 without a byte order mark",
    "convert it, as in `iconv -f UTF-16BE -t UTF-8 FILE | ogive build - --format csv -o TABLE`",
);
const COMPRESSED_TWICE: ForeignFormat =
    ("is compressed twice", "pipe it in, as in `gzip -dc FILE | ogive build - -o TABLE`");
const TAPE: ForeignFormat = (
    "is an archive of tar",
    "pipe one of its files in, as in `tar -xOf FILE NAME | ogive build - --format csv -o TABLE`",
);
const PROGRAM: ForeignFormat = ("is a program, and no data", "give a file of CSV, TSV, JSON, Parquet or text");
const SQL_DUMP: ForeignFormat =
    ("is a script of SQL statements", "write the tables as CSV, as in `psql -c \"copy NAME to stdout csv header\"`");

const XML: ForeignFormat =
    ("is XML", "write its rows as CSV, as in Python with `pandas.read_xml('FILE').to_csv('FILE.csv', index=False)`");
const HTML: ForeignFormat = (
    "is HTML",
    "write its rows as CSV, as in Python with `pandas.read_html('FILE')[0].to_csv('FILE.csv', index=False)`",
);

/// Formats of text by their first bytes.
const TEXT_MAGICS: [(&[u8], ForeignFormat); 17] = [
    (b"<?xml", XML),
    (b"<!DOCTYPE", HTML),
    (b"<!doctype", HTML),
    (b"<html", HTML),
    (b"<table", HTML),
    (b"%PDF-", PICTURE),
    (b"-- PostgreSQL database dump", SQL_DUMP),
    (b"--\n-- PostgreSQL database dump", SQL_DUMP),
    (b"--\n-- PostgreSQL database cluster dump", SQL_DUMP),
    (b"-- MySQL dump", SQL_DUMP),
    (b"-- MariaDB dump", SQL_DUMP),
    (b"PRAGMA foreign_keys=", SQL_DUMP),
    (b"INSERT INTO ", SQL_DUMP),
    (b"CREATE TABLE ", SQL_DUMP),
    (b"DROP TABLE ", SQL_DUMP),
    (b"BEGIN TRANSACTION;", SQL_DUMP),
    (b"SET NAMES ", SQL_DUMP),
];

/// Other formats by their first bytes. Those of some are letters, with which text may begin as well.
const MAGICS: [(&[u8], ForeignFormat); 20] = [
    (b"\x1f\x8b\x08", COMPRESSED_TWICE),
    (b"\x28\xb5\x2f\xfd", COMPRESSED_TWICE),
    (b"BZh", BZIP2),
    (b"\xfd7zXZ\0", XZ),
    (b"\x04\x22\x4d\x18", LZ4),
    (b"7z\xbc\xaf\x27\x1c", SEVEN_ZIP),
    (b"Rar!\x1a\x07", PACKED),
    (b"ARROW1\0\0", ARROW),
    (b"FEA1", ARROW),
    (b"Obj\x01", AVRO),
    (b"ORC", ORC),
    (b"SQLite format 3\0", SQLITE),
    (b"PGDMP", PG_DUMP),
    (b"redb\x1a\x0a\xa9\x0d\x0a", REDB),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", SHEET),
    (b"\x89HDF\r\n\x1a\n", HDF5),
    (b"\x89PNG\r\n", PICTURE),
    (b"\xff\xd8\xff", PICTURE),
    (b"GIF8", PICTURE),
    (b"\x7fELF", PROGRAM),
];

/// Formats by bytes at a place behind the first.
const INNER_MAGICS: [(usize, &[u8], ForeignFormat); 3] =
    [(8, b"DUCK", DUCKDB), (16, b"\xde\xc0\xef\xbe", LMDB), (257, b"ustar", TAPE)];

/// Formats by their last bytes: RocksDB's tables of blocks, and LevelDB's.
const LAST_MAGICS: [(&[u8], ForeignFormat); 2] =
    [(b"\xf7\xcf\xf4\x85\xb7\x41\xe2\x88", SORTED_STRINGS), (b"\x57\xfb\x80\x8b\x24\x75\x47\xdb", SORTED_STRINGS)];

/// What the first bytes of an input say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// It is of this format, whatever its name.
    Of(Format),
    /// It is no input.
    Foreign(ForeignFormat),
    /// Some of its bytes are zero, so it is hardly text.
    Zeros,
    /// It is UTF-16 without a byte order mark.
    Utf16(ForeignFormat),
    /// Text with fields that are separated by this byte: all rows have as many, but for some mistakes.
    Separated(u8),
    /// Text with as many of this byte in most rows.
    Unclear(u8),
    /// It may be of any format of text.
    Text,
}

impl Content {
    /// What `head`, the first decoded bytes, and `last`, the last eight bytes of the file, say.
    pub(super) fn of(head: &[u8], last: &[u8]) -> Self {
        // What ends otherwise is cut off, or text.
        let is_parquet = |magic: &[u8]| head.starts_with(magic) && (last.ends_with(magic) || !is_text(head));
        if is_parquet(b"PAR1") || is_parquet(b"PARE") {
            return Self::Of(Format::Parquet);
        }
        if let Some(foreign) = foreign(head, last) {
            return Self::Foreign(foreign);
        }
        if !is_text(head) && !head.contains(&0) && !is_utf_8(head) {
            return Self::Foreign(UNKNOWN);
        }
        if head.contains(&0) {
            return utf_16(head).map_or(Self::Zeros, Self::Utf16);
        }
        let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
        if is_json(text.trim_ascii_start()) {
            return Self::Of(Format::Jsonl);
        }
        if let Some(foreign) = printed(text) {
            return Self::Foreign(foreign);
        }
        fields_of(text)
    }

    /// What it is, if it is no input.
    pub(super) fn foreign(self) -> Option<ForeignFormat> {
        match self {
            Self::Foreign(foreign) => Some(foreign),
            Self::Zeros => Some(BINARY),
            Self::Utf16(foreign) => Some(foreign),
            _ => None,
        }
    }
}

/// What a folder is that has the files of another store.
pub(super) fn foreign_folder(path: &Path) -> Option<ForeignFormat> {
    if path.join("data.mdb").is_file() {
        return Some(LMDB_FOLDER);
    }
    let mut head = Vec::new();
    _ = File::open(path.join("CURRENT")).and_then(|file| file.take(16).read_to_end(&mut head));
    head.starts_with(b"MANIFEST-").then_some(ROCKSDB_FOLDER)
}

fn foreign(head: &[u8], last: &[u8]) -> Option<ForeignFormat> {
    if head.starts_with(b"PK\x03\x04") {
        // A file of Office names its types first.
        let is_sheet = head.windows(3).any(|window| window == b"xl/") || contains(head, b"spreadsheet");
        return Some(if is_sheet { SHEET } else { PACKED });
    }
    let begins = |(magic, _): &&(&[u8], ForeignFormat)| head.starts_with(magic);
    let by_text = TEXT_MAGICS.iter().find(begins);
    if by_text.is_some() || is_text(head) {
        return by_text.map(|(_, foreign)| *foreign);
    }
    let by_first = MAGICS.iter().find(begins).map(|(_, foreign)| *foreign);
    let is_inside = |(at, magic, _): &&(usize, &[u8], _)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic));
    let inner = || INNER_MAGICS.iter().find(is_inside).map(|(.., foreign)| *foreign);
    let by_last = || LAST_MAGICS.iter().find(|(magic, _)| last == *magic).map(|(_, foreign)| *foreign);
    by_first.or_else(inner).or_else(by_last)
}

/// Whether bytes are text, as far as it goes: neither NULs, nor control characters other than those of lines.
pub(super) fn is_text(head: &[u8]) -> bool {
    !head.iter().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\r' | b'\n'))
}

/// UTF-16 without a byte order mark, in which every second byte of most texts is zero.
fn utf_16(head: &[u8]) -> Option<ForeignFormat> {
    let (pairs, _) = head.as_chunks::<2>();
    let zeros = |place: usize| pairs.iter().filter(|pair| pair[place] == 0 && pair[1 - place] != 0).count();
    let are_most = |zeros: usize| zeros * MOST_OF >= pairs.len() * MOST;
    [(0, UTF_16_BIG), (1, UTF_16_LITTLE)].into_iter().find_map(|(place, of)| are_most(zeros(place)).then_some(of))
}

/// Whether bytes are UTF-8, the last character of which may be cut off.
fn is_utf_8(head: &[u8]) -> bool {
    std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Whether text begins as objects of JSON do, or as an array, even of what is no object: as lines of text it would be
/// something else.
fn is_json(text: &[u8]) -> bool {
    let is_array = |text: &[u8]| serde_json::from_slice::<Vec<serde::de::IgnoredAny>>(text).is_ok();
    if text.starts_with(b"[") && is_array(text) {
        return true;
    }
    let object = text.strip_prefix(b"[").map_or(text, <[u8]>::trim_ascii_start);
    let Some(member) = object.strip_prefix(b"{") else { return false };
    // An empty object is written as `{}`; a member begins with its name.
    matches!(member.trim_ascii_start().first(), Some(b'"' | b'}'))
}

/// What the bytes that separate fields say of text. The one with most fields counts, but a semicolon more than commas
/// within numbers.
fn fields_of(text: &[u8]) -> Content {
    let kinds = DELIMITERS.iter().rev().map(|&delimiter| (counts_of(text, delimiter), delimiter));
    let kinds: Vec<(Evenness, usize, u8)> = kinds.filter_map(|(counts, of)| counts.evenness(of)).collect();
    let is_even = |of: u8| kinds.iter().any(|(evenness, _, delimiter)| *delimiter == of && *evenness == Evenness::Even);
    if is_even(HIVE_DELIMITER) {
        return Content::Separated(HIVE_DELIMITER);
    }
    if is_even(b';') && has_decimal_commas(text) {
        return Content::Separated(b';');
    }
    match kinds.into_iter().max_by_key(|(evenness, count, _)| (*evenness, *count)) {
        Some((Evenness::Even, _, delimiter)) => Content::Separated(delimiter),
        Some((Evenness::Most, _, delimiter)) => Content::Unclear(delimiter),
        None => Content::Text,
    }
}

/// The byte that separates as many fields in each row, if there is one.
pub(super) fn delimiter_of(text: &[u8]) -> Option<u8> {
    match fields_of(text) {
        Content::Separated(delimiter) => Some(delimiter),
        _ => None,
    }
}

/// Whether each comma of the first row is within a number: `1,5;2,5`.
pub(super) fn has_decimal_commas(text: &[u8]) -> bool {
    let row = text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let mut fields = row.split(|byte| *byte == b';').filter(|field| field.contains(&b',')).peekable();
    let is_number = |field: &[u8]| {
        let digits = field.strip_prefix(b"-").unwrap_or(field);
        let mut parts = digits.split(|byte| *byte == b',');
        let is_part =
            |part: Option<&[u8]>| part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
        is_part(parts.next()) && is_part(parts.next()) && parts.next().is_none()
    };
    fields.peek().is_some() && fields.all(is_number)
}

/// The byte that separates the names in the first row, if it is not a comma, and as many fields in the others.
pub(super) fn delimiter_of_header(text: &[u8]) -> Option<u8> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let has_commas = counts_of(text, b',').rows.first().is_none_or(|count| *count > 0);
    let is_of_header = |delimiter: &u8| has_in_header(text, *delimiter);
    if has_commas {
        return None;
    }
    match counts_of(text, b',').rows.len() {
        1 => DELIMITERS.into_iter().find(is_of_header),
        _ => delimiter_of(text).filter(|delimiter| *delimiter != b','),
    }
}

/// Whether the first row may have several fields.
#[cfg(feature = "parquet")]
pub(super) fn may_be_row(text: &[u8]) -> bool {
    DELIMITERS.into_iter().any(|delimiter| has_in_header(text, delimiter))
}

/// Whether a delimiter is in the first row.
pub(super) fn has_in_header(text: &[u8], delimiter: u8) -> bool {
    counts_of(text, delimiter).rows.first().is_some_and(|count| *count > 0)
}

/// Rows of as many fields that are taken for rows of a table below other lines, such as comments.
const ROWS_BELOW_MIN: usize = 5;

/// How often a delimiter is in rows.
#[derive(Debug, Default)]
struct Counts {
    /// In each of the first rows that are not empty.
    rows: Vec<usize>,
    /// In the row behind them, if the text that is known ends in it.
    cut: Option<usize>,
}

/// Of how many rows a delimiter is as often as in the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Evenness {
    Most,
    Even,
}

impl Counts {
    /// Whether rows have the delimiter as often as the first one, with how often that is.
    fn evenness(&self, delimiter: u8) -> Option<(Evenness, usize, u8)> {
        self.evenness_from_first(delimiter).or_else(|| {
            let last = *self.rows.last().filter(|count| **count > 0)?;
            let start = self.rows.iter().position(|count| *count == last)?;
            let (rows, of_last) =
                (&self.rows[start..], |rows: &[usize]| rows.iter().filter(|count| **count == last).count());
            let are_rows = rows.len() >= ROWS_BELOW_MIN && of_last(rows) * MOST_OF >= rows.len() * MOST;
            are_rows.then_some((Evenness::Most, last, delimiter))
        })
    }

    fn evenness_from_first(&self, delimiter: u8) -> Option<(Evenness, usize, u8)> {
        let first = *self.rows.first().filter(|count| **count > 0)?;
        let (all, even) = (self.rows.len(), self.rows.iter().filter(|count| **count == first).count());
        // One row says little, unless the next is so long that it is cut off: it may be that of names.
        let is_one_enough = delimiter == HIVE_DELIMITER || self.cut.is_some_and(|cut| cut <= first);
        let evenness = match all {
            1 => {
                if is_one_enough {
                    Evenness::Even
                } else {
                    Evenness::Most
                }
            }
            _ if even == all || (all >= MOST_OF && even * MOST_OF >= all * MOST) => Evenness::Even,
            _ if even * 2 > all => Evenness::Most,
            _ => return None,
        };
        Some((evenness, first, delimiter))
    }
}

/// How often a delimiter is in each of the first rows that are not empty, quoted fields aside. The last row of a text
/// that goes on may be cut off.
fn counts_of(text: &[u8], delimiter: u8) -> Counts {
    let (mut counts, mut count, mut is_quoted, mut is_empty) = (Vec::new(), 0, false, true);
    for &byte in text {
        is_quoted ^= byte == b'"';
        if !is_quoted && matches!(byte, b'\n' | b'\r') {
            counts.extend((!is_empty).then_some(count));
            (count, is_empty) = (0, true);
            if counts.len() == ROWS_MAX {
                return Counts { rows: counts, cut: None };
            }
            continue;
        }
        is_empty = false;
        count += usize::from(byte == delimiter && !is_quoted);
    }
    let is_whole = (text.len() as u64) < HEAD_BYTES && !is_empty;
    counts.extend(is_whole.then_some(count));
    Counts { rows: counts, cut: (!is_whole && !is_empty).then_some(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_their_first_bytes() {
        for (head, format) in [
            (&b"PAR1\x15\x04"[..], Format::Parquet),
            (b"\xef\xbb\xbf [ { \"a\": 1}", Format::Jsonl),
            (b"{}\n", Format::Jsonl),
            (b"{\"a\": 1}\n{\"a\": 2}\n", Format::Jsonl),
        ] {
            assert_eq!(Content::of(head, b""), Content::Of(format));
        }
        for head in [
            &b"BZh91AY&SY\x01"[..],
            b"SQLite format 3\0\x10\0",
            b"PGDMP\x01",
            b"PK\x03\x04\x14\0",
            b"abc\0b",
            b"a\0b\0",
        ] {
            assert!(Content::of(head, b"").foreign().is_some());
        }
        assert_eq!(Content::of(b"PK\x03\x04\x14\0xl/workbook.xml", b"").foreign(), Some(SHEET));
        assert_eq!(Content::of(b"\0\0", b"\x57\xfb\x80\x8b\x24\x75\x47\xdb").foreign(), Some(SORTED_STRINGS));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(foreign_folder(folder.path()), None);
        std::fs::write(folder.path().join("CURRENT"), "MANIFEST-000005\n").unwrap();
        assert_eq!(foreign_folder(folder.path()), Some(ROCKSDB_FOLDER));
        std::fs::write(folder.path().join("data.mdb"), "").unwrap();
        assert_eq!(foreign_folder(folder.path()), Some(LMDB_FOLDER));
        for text in ["[]", "[1, 2]", "[\"a\"]\n", "[{}]"] {
            assert_eq!(Content::of(text.as_bytes(), b""), Content::Of(Format::Jsonl), "{text}");
        }
        assert_eq!(Content::of(b"PAR1,b\n1,2\n", b"b\n1,2\n"), Content::Separated(b','));
        for text in ["", "one\ntwo\n", "[section]\n", "{a}\n", "a,b\nc\n", "[1] a\n", "a, b\nc\nd\ne\n"] {
            assert_eq!(Content::of(text.as_bytes(), b""), Content::Text, "{text}");
        }
    }

    #[test]
    fn fields_are_separated_by_the_byte_that_each_line_has_as_often() {
        for (text, delimiter) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2\n3;4,5\n", b';'),
            ("a\tb|c\n1\t2|3\n", b'\t'),
            ("a;b;c\n\"1;2\";3;4\n", b';'),
            ("a|b\r\n1|2\r\n\r\n", b'|'),
            ("a;b\n\"1\n;\n2\";3\n4;5\n", b';'),
        ] {
            assert_eq!(delimiter_of(text.as_bytes()), Some(delimiter), "{text}");
        }
        assert_eq!(delimiter_of(b"1,5;2,5\n3,5;4,25\n"), Some(b';'));
        assert_eq!(delimiter_of(b"a,b;c\nd,e;f\n"), Some(b','));
        let ragged = format!("a,b\n{}3\n", "1,2\n".repeat(20));
        assert_eq!(delimiter_of(ragged.as_bytes()), Some(b','));
        assert_eq!(Content::of(b"a,b\n1,2\n3\n", b""), Content::Unclear(b','));
        let long = format!("a,b\n1,\"{}", "x,\n".repeat(HEAD_BYTES as usize));
        assert_eq!(delimiter_of(&long.as_bytes()[..HEAD_BYTES as usize]), Some(b','));
        assert_eq!(delimiter_of_header(b"\xef\xbb\xbfa;b\n1;2\n"), Some(b';'));
        assert_eq!(delimiter_of_header(b"a;b\n"), Some(b';'));
        assert_eq!(delimiter_of_header(b"a;b\n1\n2\n"), None);
        assert_eq!(delimiter_of_header(b"a,b;c\n"), None);
        assert_eq!(delimiter_of_header(b"a\n"), None);
    }
}
