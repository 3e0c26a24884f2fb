//! Lookups of keys in an index of Parquet files, for `ogive get`.

use super::rows::{RowFormat, RowWriter};
use super::{BesideIndex, READS, reads_json};
use crate::commands::verbs::LookupKeys;
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::values::key;
use crate::values::size::counted;
use serde_json::json;

/// Keys of standard input that are looked up in one round.
const KEYS_A_ROUND: usize = 1024;

/// Prints the rows of keys: all of each, or only the first. The keys are looked up together, so that the requests of
/// several are shown at the end.
///
/// # Errors
/// [`Failure::Usage`] for `raw`; those of the index.
pub(crate) fn get(
    open: BesideIndex,
    keys: &LookupKeys,
    (all, raw): (bool, bool),
    format: &RowFormat,
    output: &mut Output,
) -> Result<Outcome> {
    if raw {
        let message = "--raw writes one value, but rows of Parquet files have columns";
        return Err(Failure::usage(message, "remove --raw, and choose columns with --columns"));
    }
    let BesideIndex { index, mut trace, explain } = open;
    let is_in_answer = keys.is_one() && output.is_json();
    let mut writer = RowWriter::new(format, &index, output)?;
    let columns = writer.columns();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let (mut asked, mut absent): (Vec<Vec<u8>>, Vec<Vec<u8>>) = Default::default();
    let mut more = 0;
    let mut find = |asked: &mut Vec<Vec<u8>>| -> Result<()> {
        let keys: Vec<&[u8]> = asked.iter().map(Vec::as_slice).collect();
        let found = index.multi_get_traced(&keys, Some(&columns), Some(&mut trace))?;
        let reads = if is_in_answer && explain { json!({ READS: reads_json(&trace) }) } else { json!({}) };
        for (key, rows) in asked.drain(..).zip(&found) {
            more = writer.answer(key::to_json(index.key_type(), &key), rows, all, &reads)?;
            if rows.num_rows() == 0 {
                absent.push(key);
            }
        }
        Ok(())
    };
    keys.each(&mut |key| {
        asked.push(key::from_argument(index.key_type(), key)?);
        if asked.len() < KEYS_A_ROUND { Ok(()) } else { find(&mut asked) }
    })?;
    find(&mut asked)?;
    writer.finish()?;
    let open = BesideIndex { index, trace, explain };
    if !is_in_answer {
        open.print_trace(output)?;
    }
    output.flush()?;
    for key in &absent {
        note(format_args!("{}: not found", key::shown(open.key_type(), key)));
    }
    if more > 0 && keys.is_one() && !output.is_json() {
        note(format_args!("{} with this key; --all prints them", counted(more, "more record")));
    }
    Ok(if absent.is_empty() { Outcome::Done } else { Outcome::Negative })
}
