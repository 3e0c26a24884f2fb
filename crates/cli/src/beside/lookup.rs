//! Lookups of keys in an index of Parquet files, for `ogive get`.

use super::rows::{RowFormat, RowWriter};
use super::{BesideIndex, READS, reads_json};
use crate::commands::lookup_keys::{LookupKeys, WAVE_KEYS_MAX};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::values::key;
use crate::values::size::counted;
use serde_json::json;
use std::ffi::OsStr;

/// Most bytes of pages that are read for keys together: rows that lie apart need many pages.
const PAGES_BYTES_MAX: u64 = 64 << 20;
/// Where files are not sorted, the rows of a wave take at most 1/N of the memory.
const ROWS_DIVISOR: u64 = 4;

/// What is printed of the rows of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownRows<'a> {
    /// All of them, or only the first.
    pub(crate) all: bool,
    /// Whether only a value was asked for.
    pub(crate) raw: bool,
    pub(crate) format: &'a RowFormat,
}

/// Prints the rows of keys. The keys of a wave are looked up together, so that the requests of several are shown at the
/// end.
///
/// # Errors
/// [`Failure::Usage`] for a value alone; those of the index.
pub(crate) fn get(
    open: BesideIndex,
    keys: &LookupKeys,
    shown: ShownRows<'_>,
    memory_bytes: u64,
    output: &mut Output,
) -> Result<Outcome> {
    if shown.raw {
        let message = "--raw writes one value, but rows of Parquet files have columns";
        return Err(Failure::usage(message, "remove --raw, and choose columns with --columns"));
    }
    let BesideIndex { index, mut trace, explain } = open;
    let (key_type, is_json) = (index.key_type(), output.is_json());
    let is_in_answer = keys.is_one() && is_json;
    let mut writer = RowWriter::new(shown.format, &index, output)?;
    let columns = writer.columns();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let (mut outcome, mut more) = (Outcome::Done, 0);
    let parse = |written: &OsStr| key::from_argument(key_type, written);
    // A wave of many keys in files that are not sorted reads all of their pages once, so few waves are best.
    let (keys_max, most_bytes) = match index.is_sorted() {
        true => (WAVE_KEYS_MAX, PAGES_BYTES_MAX),
        false => (usize::MAX, memory_bytes / ROWS_DIVISOR),
    };
    let read = keys.in_waves_of(keys_max, memory_bytes, parse, |wave| {
        let asked: Vec<&[u8]> = wave.iter().map(Vec::as_slice).collect();
        let traced = if explain { Some(&mut trace) } else { None };
        let found = index.multi_get_within(&asked, Some(&columns), most_bytes, traced)?;
        let reads = if is_in_answer && explain { json!({ READS: reads_json(&trace) }) } else { json!({}) };
        for (key, rows) in asked.iter().zip(&found) {
            more = writer.answer(key::to_json(key_type, key), rows, shown.all, &reads)?;
        }
        writer.flush()?;
        for (key, _) in asked.iter().zip(&found).filter(|(_, rows)| rows.num_rows() == 0) {
            note(format_args!("{}: not found", key::shown(key_type, key)));
            outcome = Outcome::Negative;
        }
        Ok(found.len())
    });
    match read {
        // Some lines were no keys, and all others are answered.
        Err(failure @ Failure::Usage { .. }) => return writer.finish().and(Err(failure)),
        read => read?,
    }
    writer.finish()?;
    let open = BesideIndex { index, trace, explain };
    if !is_in_answer {
        open.print_trace(output)?;
    }
    if more > 0 && keys.is_one() && !is_json {
        output.flush()?;
        note(format_args!("{} with this key; --all prints them", counted(more, "more record")));
    }
    Ok(outcome)
}
