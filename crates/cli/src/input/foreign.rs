//! Recognition of files in formats that are no input, by their names and first bytes. Read as lines of text, they would
//! silently become keys.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What a file is that is no input, and what to do with it.
type ForeignFormat = (&'static str, &'static str);

const COMPRESSED: ForeignFormat =
    ("is compressed", "decompress it, or pipe it in, as in `gunzip -c FILE | ogive build - --format csv -o TABLE`");
const JSON: ForeignFormat =
    ("is JSON", "if it has one object a line, use --format jsonl; else write each object on a line of its own");
const SHEET: ForeignFormat = ("is a spreadsheet", "save it as CSV");
const BINARY: ForeignFormat = ("is of a binary format that is not read", "convert it to Parquet or CSV");
const PARQUET: ForeignFormat = ("is a Parquet file without the extension .parquet", "use --format parquet");

/// Formats by extension.
const EXTENSIONS: [(&str, ForeignFormat); 15] = [
    ("gz", COMPRESSED),
    ("tgz", COMPRESSED),
    ("zst", COMPRESSED),
    ("bz2", COMPRESSED),
    ("xz", COMPRESSED),
    ("lz4", COMPRESSED),
    ("zip", COMPRESSED),
    ("json", JSON),
    ("xls", SHEET),
    ("xlsx", SHEET),
    ("ods", SHEET),
    ("arrow", BINARY),
    ("feather", BINARY),
    ("avro", BINARY),
    ("orc", BINARY),
];

/// Formats by their first bytes.
const MAGICS: [(&[u8], ForeignFormat); 9] = [
    (b"\x1f\x8b", COMPRESSED),
    (b"\x28\xb5\x2f\xfd", COMPRESSED),
    (b"BZh", COMPRESSED),
    (b"\xfd7zXZ\0", COMPRESSED),
    (b"PK\x03\x04", COMPRESSED),
    (b"ARROW1\0\0", BINARY),
    (b"Obj\x01", BINARY),
    (b"PAR1", PARQUET),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", SHEET),
];

/// What a file of no known extension is, if it is of a format that is no input.
pub(super) fn foreign(path: &Path, extension: &str) -> Option<ForeignFormat> {
    let by_name = EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, foreign)| *foreign);
    by_name.or_else(|| {
        let mut first = [0; 8];
        // What cannot be read fails where it is read as an input.
        let length = File::open(path).and_then(|mut file| file.read(&mut first)).ok()?;
        let first = first.get(..length)?;
        MAGICS.iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, foreign)| *foreign)
    })
}
