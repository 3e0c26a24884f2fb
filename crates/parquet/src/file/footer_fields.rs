//! Footers without the fields whose types are not those of Parquet.
//!
//! Some writers have put fields of their own under numbers that Parquet took later. Readers of Thrift pass over a field
//! whose type is not the expected one; the crate `parquet` takes its bytes for one of that type.

use super::page_header::{Compact, I32, I64, LIST, STRUCT};

/// The types of the fields of a column's metadata.
const OF_COLUMN: [(i64, u8); 17] = [
    (1, I32),
    (2, LIST),
    (3, LIST),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, LIST),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, STRUCT),
    (13, LIST),
    (14, I64),
    (15, I32),
    (16, STRUCT),
    (17, STRUCT),
];

/// The structures that lead to the metadata of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    File,
    Group,
    Chunk,
    Column,
}

/// A footer without such fields; `None` if it is malformed.
pub(crate) fn without_foreign_fields(footer: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(footer.len());
    let mut reader = Compact::whole(footer);
    copy(&mut reader, footer, Level::File, &mut out)?;
    Some(out)
}

/// Copies a structure.
fn copy(reader: &mut Compact<'_>, footer: &[u8], level: Level, out: &mut Vec<u8>) -> Option<()> {
    let (mut last, mut written) = (0, 0);
    while let Some((number, kind)) = reader.field(&mut last)? {
        let start = reader.at;
        let expected = OF_COLUMN.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind);
        if level == Level::Column && expected.is_some_and(|expected| expected != kind) {
            reader.skip(kind, 0)?;
            continue;
        }
        push_head(number - written, number, kind, out);
        written = number;
        match (level, number, kind) {
            (Level::File, 4, LIST) => copy_each(reader, footer, Level::Group, out)?,
            (Level::Group, 1, LIST) => copy_each(reader, footer, Level::Chunk, out)?,
            (Level::Chunk, 3, STRUCT) => copy(reader, footer, Level::Column, out)?,
            _ => {
                reader.skip(kind, 0)?;
                out.extend_from_slice(footer.get(start..reader.at)?);
            }
        }
    }
    out.push(0);
    Some(())
}

/// Copies a list of structures.
fn copy_each(reader: &mut Compact<'_>, footer: &[u8], level: Level, out: &mut Vec<u8>) -> Option<()> {
    let start = reader.at;
    let (count, kind) = reader.list_head()?;
    out.extend_from_slice(footer.get(start..reader.at)?);
    if kind != STRUCT && count > 0 {
        return None;
    }
    (0..count).try_for_each(|_| copy(reader, footer, level, out))
}

/// Appends the head of a field, by its distance from the one before if that is short.
fn push_head(step: i64, number: i64, kind: u8, out: &mut Vec<u8>) {
    if let Ok(step @ 1..=15) = u8::try_from(step) {
        out.push(step << 4 | kind);
        return;
    }
    out.push(kind);
    let mut rest = (number << 1 ^ number >> 63).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_another_type_is_left_out_and_all_others_stay() {
        // The number of values, a list where the length of a filter stands, and statistics of sizes, of one column.
        let footer = [0x49, 0x1c, 0x19, 0x1c, 0x3c, 0x56, 14, 0xa9, 0x15, 2, 0x1c, 0, 0, 0, 0, 0];
        let cleaned = [0x49, 0x1c, 0x19, 0x1c, 0x3c, 0x56, 14, 0xbc, 0, 0, 0, 0, 0];
        assert_eq!(without_foreign_fields(&footer).as_deref(), Some(&cleaned[..]));
        assert_eq!(without_foreign_fields(&cleaned).as_deref(), Some(&cleaned[..]));
        for length in 0..footer.len() {
            assert_eq!(without_foreign_fields(&footer[..length]), None, "{length}");
        }
    }
}
