//! The commands that tables, indexes and stores share: one body each, over [`OrderedMap`].

use super::ordered_map::{Change, OrderedMap, RangeOptions, Report, Window, WritableMap};
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::output::{Output, note};
use serde_json::json;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::Read;

/// Bytes of a value per write.
const PIECE_BYTES: usize = 64 << 10;

/// Prints the values of a key: all of them, or only the first.
pub(crate) fn get<M: OrderedMap>(map: &M, key: &OsStr, all: bool, output: &mut Output) -> Result<Outcome> {
    let key = map.parse_key(key)?;
    let values = map.get(&key, all)?;
    if output.is_json() {
        let mut object = json!({ "key": map.key_to_json(&key), "found": !values.is_empty() });
        if all {
            object["values"] = values.iter().map(|value| map.value_to_json(value)).collect();
        } else if let Some(value) = values.first() {
            object["value"] = map.value_to_json(value);
        }
        map.add_trace(&mut object);
        output.json(&object)?;
    } else {
        values.iter().try_for_each(|value| output.line(map.shown_value(value)))?;
        map.print_trace(output)?;
    }
    if values.is_empty() {
        return not_found(map.shown_key(&key), output);
    }
    if let Some(remark) = map.remark(&values).filter(|_| !output.is_json()) {
        note(remark);
    }
    Ok(Outcome::Done)
}

/// Prints a value of any length unchanged.
pub(crate) fn print_raw(value: Option<impl Read>, shown_key: impl Display, output: &mut Output) -> Result<Outcome> {
    let Some(mut value) = value else { return not_found(shown_key, output) };
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = value.read(&mut piece).map_err(Failure::from_value)?;
        if length == 0 {
            return Ok(Outcome::Done);
        }
        output.bytes(&piece[..length])?;
    }
}

/// Reports an absent key.
pub(crate) fn not_found(shown_key: impl Display, output: &mut Output) -> Result<Outcome> {
    output.flush()?;
    note(format_args!("{shown_key}: not found"));
    Ok(Outcome::Negative)
}

/// Writes an entry.
pub(crate) fn put<M: WritableMap>(map: M, key: &OsStr, value: &[u8], output: &mut Output) -> Result<Outcome> {
    change(map, key, |map, key| map.put(key, value), output)
}

/// Removes one entry of a key, or all of them.
pub(crate) fn delete<M: WritableMap>(map: M, key: &OsStr, all: bool, output: &mut Output) -> Result<Outcome> {
    change(map, key, |map, key| map.remove(key, all), output)
}

/// Modifies the entry of a key by `work`, and prints the result.
pub(crate) fn change<M: OrderedMap>(
    map: M,
    key: &OsStr,
    work: impl FnOnce(M, &M::Key) -> Result<Change>,
    output: &mut Output,
) -> Result<Outcome> {
    let key = map.parse_key(key)?;
    let (shown, key_json) = (map.shown_key(&key).into_owned(), map.key_to_json(&key));
    let Change { field: (field, value), done } = work(map, &key)?;
    if output.is_json() {
        output.json(&json!({ "key": key_json, field: value }))?;
    } else if let Some(done) = &done {
        output.line(format_args!("{shown}: {done}"))?;
    }
    if done.is_none() { not_found(shown, output) } else { Ok(Outcome::Done) }
}

/// Prints the entries of a range in key order, and the reads if requested.
pub(crate) fn scan<M: OrderedMap>(
    map: &M,
    range: &RangeOptions,
    window: Window,
    output: &mut Output,
) -> Result<Outcome> {
    if let Some(range) = map.parse_range(range)? {
        map.scan(range, window, output)?;
        map.print_trace(output)?;
    }
    Ok(Outcome::Done)
}

/// Prints the number of entries in a range, and the reads if requested.
pub(crate) fn count<M: OrderedMap>(map: &M, range: &RangeOptions, output: &mut Output) -> Result<Outcome> {
    let count = map.parse_range(range)?.map_or(Ok(0), |range| map.count(range))?;
    if output.is_json() {
        let mut object = json!({ "count": count });
        map.add_trace(&mut object);
        output.json(&object)?;
    } else {
        output.line(count)?;
        map.print_trace(output)?;
    }
    Ok(Outcome::Done)
}

/// Prints the statistics of a table, index or store.
pub(crate) fn stats<M: OrderedMap<Location: Display>>(place: &M::Location, output: &mut Output) -> Result<Outcome> {
    report(&M::stats(place)?, &place.to_string(), output)
}

/// Checks a table, index or store, and prints the findings.
pub(crate) fn verify<M: OrderedMap<Location: Display>>(place: &M::Location, output: &mut Output) -> Result<Outcome> {
    report(&M::verify(place)?, &place.to_string(), output)
}

fn report(report: &impl Report, name: &str, output: &mut Output) -> Result<Outcome> {
    if output.is_json() {
        output.json(&report.to_json()?)?;
    } else {
        report.print(name, output)?;
    }
    output.flush()?;
    report.remarks(name, output.is_json()).into_iter().for_each(note);
    Ok(if report.is_sound() { Outcome::Done } else { Outcome::Negative })
}
