//! The work of commands on tables, indexes and stores: one body each, over [`OrderedMap`].

use super::lookup_keys::{LookupKeys, wave_bytes};
use super::ordered_map::{Change, OrderedMap, RangeOptions, Report, Window, WritableMap};
use crate::export::{RecordSource, RecordVisitor};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::reading::bounds::Bounds;
use crate::values::size::counted;
use ogive::KeyType;
use ogive::types::{RecordType, Row, RowType, ValueType};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Read};
use std::ops::Bound;

/// Bytes of a value per write.
const PIECE_BYTES: usize = 64 << 10;

/// Prints the values of keys: all of each, or only the first. Several keys are looked up in waves, in `memory_bytes`.
pub(crate) fn get_each<M: OrderedMap>(
    map: &M,
    keys: &LookupKeys,
    (all, memory_bytes): (bool, u64),
    output: &mut Output,
) -> Result<Outcome> {
    if keys.is_one() {
        let key = map.parse_key(keys.only()?)?;
        return print_values(map, &key, &map.get(&key, all)?, all, output);
    }
    let mut outcome = Outcome::Done;
    let parse = |written: &OsStr| map.parse_key(written);
    keys.in_waves(memory_bytes, parse, |wave| {
        // Where keys fail together, each by itself shows which one does, behind the answers before it.
        let found = map.get_some(wave, all, wave_bytes(memory_bytes)).unwrap_or_default();
        let answered = if found.is_empty() { wave.len() } else { found.len() };
        let mut found = found.into_iter();
        for key in wave.iter().take(answered) {
            let values = found.next().map_or_else(|| map.get(key, all), Ok)?;
            if let Outcome::Negative = print_entry(map, key, &values, all, output)? {
                outcome = Outcome::Negative;
            }
        }
        // Who waits for these answers sends the next key when they arrive.
        output.flush()?;
        Ok(answered)
    })?;
    map.print_trace(output)?;
    Ok(outcome)
}

/// Prints a key with its values, each on a line, or as a JSON object.
fn print_entry<M: OrderedMap>(
    map: &M,
    key: &M::Key,
    values: &[M::Value],
    all: bool,
    output: &mut Output,
) -> Result<Outcome> {
    if output.is_json() {
        return print_values(map, key, values, all, output);
    }
    if values.is_empty() {
        return not_found(map.shown_key(key), output);
    }
    values.iter().try_for_each(|value| map.print_entry(key, Some(value), output))?;
    Ok(Outcome::Done)
}

/// Prints the values of a key: all of them, or only the first.
fn print_values<M: OrderedMap>(
    map: &M,
    key: &M::Key,
    values: &[M::Value],
    all: bool,
    output: &mut Output,
) -> Result<Outcome> {
    let more = if all || values.is_empty() { 0 } else { map.repeats(key)?.saturating_sub(1) };
    if output.is_json() {
        let records = values.iter().map(|value| record(map, key, value));
        let (records, first) = if all { (Some(records.collect()), None) } else { (None, records.into_iter().next()) };
        let mut trace = json!({});
        map.add_trace(&mut trace);
        let key = map.key_to_json(key);
        output.json(&FoundRecords { key, found: !values.is_empty(), record: first, records, more, trace })?;
    } else {
        values.iter().try_for_each(|value| output.line(map.shown_value(value)))?;
        map.print_trace(output)?;
    }
    if values.is_empty() {
        return not_found(map.shown_key(key), output);
    }
    if let Some(remark) = map.remark(values).filter(|_| !output.is_json()) {
        note(remark);
    }
    if more > 0 && !output.is_json() {
        note(format_args!("{} with this key; --all prints them", counted(more, "more record")));
    }
    Ok(Outcome::Done)
}

/// The answer to a lookup in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct FoundRecords {
    pub(crate) key: Value,
    pub(crate) found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<Box<RawValue>>,
    /// All records, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) records: Option<Vec<Box<RawValue>>>,
    /// Further records with the key, which `--all` prints.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) more: u64,
    /// The reads, if they were asked for.
    #[serde(flatten)]
    pub(crate) trace: Value,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A record in JSON, as a part of an answer, with its columns in order.
pub(crate) fn record<M: OrderedMap>(map: &M, key: &M::Key, value: &[u8]) -> Box<RawValue> {
    raw_json(map.record_to_json(key, Some(value)))
}

/// Text that is JSON, as a part of an answer.
pub(crate) fn raw_json(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Prints the value of a key by itself: that of the column if it is a row of one. Text and bytes are printed unchanged,
/// and a value of another type as text.
///
/// # Errors
/// [`Failure::Usage`] for several keys, and for rows of several columns; errors of reading the value.
pub(crate) fn get_raw<M: OrderedMap>(map: &M, keys: &LookupKeys, output: &mut Output) -> Result<Outcome> {
    let key = map.parse_key(keys.only()?)?;
    let (key_type, row_type) = match map.value_type() {
        ValueType::Scalar(key_type) => (*key_type, None),
        ValueType::Row(row_type) => match row_type.fields() {
            [field] => (field.key_type, Some(row_type)),
            _ => {
                return Err(Failure::usage(
                    format!("--raw writes one value, but these are rows of type {row_type}"),
                    "remove --raw, or use --json",
                ));
            }
        },
    };
    let shown_key = map.shown_key(&key);
    if matches!(key_type, KeyType::Text | KeyType::Bytes) {
        // May be longer than what is held in memory.
        let value = map.value_reader(&key)?;
        return match row_type {
            None => print_raw(value, shown_key, output),
            Some(row_type) => print_raw(value.map(|value| only_field(row_type, value)).transpose()?, shown_key, output),
        };
    }
    let values = map.get(&key, false)?;
    let shown = values.first().map(|value| {
        let field = match row_type.map(|row_type| Row::new(row_type, value)) {
            Some(Ok(row)) => row.field(0)?.unwrap_or_default(),
            _ => &value[..],
        };
        Ok::<_, Failure>(match key_type {
            _ if key_type.decode(field).is_err() => field.to_vec(),
            KeyType::FixedBytes(_) => field.to_vec(),
            _ => key_type.display(field).into_bytes(),
        })
    });
    print_raw(shown.transpose()?.map(io::Cursor::new), shown_key, output)
}

/// The only field of a row, of variable width; the whole value if it is no such row.
fn only_field(row_type: &RowType, mut value: impl Read) -> Result<impl Read> {
    let mut first = Vec::new();
    (&mut value).take(1).read_to_end(&mut first).map_err(Failure::from_value)?;
    if let Some(before) = first.first().and_then(|&first| row_type.bytes_before_field(first)) {
        let mut header = (&mut value).take(before as u64 - 1);
        io::copy(&mut header, &mut io::sink()).map_err(Failure::from_value)?;
        first.clear();
    }
    Ok(io::Cursor::new(first).chain(value))
}

/// Prints a value of any length unchanged.
fn print_raw(value: Option<impl Read>, shown_key: impl Display, output: &mut Output) -> Result<Outcome> {
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

/// Says where there are records, if there are none here.
pub(crate) fn note_emptiness<M: OrderedMap>(map: &M, output: &mut Output) -> Result<()> {
    if let Some(remark) = map.remark_on_emptiness()? {
        output.flush()?;
        note(remark);
    }
    Ok(())
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
    note_emptiness(map, output)?;
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
    note_emptiness(map, output)?;
    Ok(Outcome::Done)
}

/// Prints the number of entries with smaller keys, and the reads if requested.
pub(crate) fn rank<M: OrderedMap>(map: &M, key: &OsStr, output: &mut Output) -> Result<Outcome> {
    let key = map.parse_key(key)?;
    let rank = map.rank(&key)?;
    if output.is_json() {
        let mut object = json!({ "key": map.key_to_json(&key), "rank": rank });
        map.add_trace(&mut object);
        output.json(&object)?;
    } else {
        output.line(rank)?;
        map.print_trace(output)?;
    }
    note_emptiness(map, output)?;
    Ok(Outcome::Done)
}

/// The answer of `nth` in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct RecordAt {
    pub(crate) index: Value,
    pub(crate) found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<Box<RawValue>>,
    /// The reads, if they were asked for.
    #[serde(flatten)]
    pub(crate) trace: Value,
}

/// A position counted from 0, of one that may be counted from the end; `None` before the first.
pub(crate) fn from_start(position: i64, total: impl FnOnce() -> Result<u64>) -> Result<Option<u64>> {
    match u64::try_from(position) {
        Ok(index) => Ok(Some(index)),
        Err(_) => Ok(total()?.checked_sub(position.unsigned_abs())),
    }
}

/// Prints the record at a position, and the reads if requested.
pub(crate) fn nth<M: OrderedMap>(map: &M, position: i64, output: &mut Output) -> Result<Outcome> {
    let index = from_start(position, || map.total())?;
    let record_at = index.map_or(Ok(None), |index| map.nth(index))?;
    if output.is_json() {
        let mut trace = json!({});
        map.add_trace(&mut trace);
        let shown = record_at.as_ref().map(|(key, value)| record(map, key, value));
        let index = index.map_or(json!(position), Value::from);
        output.json(&RecordAt { index, found: shown.is_some(), record: shown, trace })?;
    } else {
        if let Some((key, value)) = &record_at {
            map.print_entry(key, Some(value), output)?;
        }
        map.print_trace(output)?;
    }
    if record_at.is_some() {
        return Ok(Outcome::Done);
    }
    output.flush()?;
    no_record(position, M::WHAT, map.total()?);
    note_emptiness(map, output)?;
    Ok(Outcome::Negative)
}

/// Says that there is no such position.
pub(crate) fn no_record(position: i64, what: &str, total: u64) {
    note(format_args!("no record at position {position}; {what} has {}", counted(total, "record")));
}

/// The records of a range of a map, to be exported.
pub(crate) struct RangeRecords<'a, M: OrderedMap> {
    map: &'a M,
    /// `None` if the range is empty.
    bounds: Option<Bounds<M::Key>>,
}

impl<'a, M: OrderedMap> RangeRecords<'a, M> {
    /// The records of a range.
    ///
    /// # Errors
    /// Those of [`OrderedMap::parse_range`].
    pub(crate) fn of(map: &'a M, range: &RangeOptions) -> Result<Self> {
        Ok(Self { map, bounds: map.parse_range(range)? })
    }
}

impl<M: OrderedMap> RecordSource for RangeRecords<'_, M> {
    fn record_type(&self) -> RecordType {
        self.map.record_type()
    }

    fn expected(&self) -> Option<u64> {
        match &self.bounds {
            None => Some(0),
            Some((Bound::Unbounded, Bound::Unbounded)) => self.map.expected(),
            Some(_) => None,
        }
    }

    fn visit(&self, visit: &mut RecordVisitor<'_>) -> Result<()> {
        self.bounds.clone().map_or(Ok(()), |bounds| self.map.export(bounds, visit))
    }
}

/// Prints the statistics of a table, index or store.
pub(crate) fn stats<M: OrderedMap<Location: Display>>(place: &M::Location, output: &mut Output) -> Result<Outcome> {
    report(&M::stats(place)?, &place.to_string(), output)
}

/// Checks a table, index or store, and prints the findings.
pub(crate) fn verify<M: OrderedMap<Location: Display>>(place: &M::Location, output: &mut Output) -> Result<Outcome> {
    crate::disk_cache::bypass();
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
