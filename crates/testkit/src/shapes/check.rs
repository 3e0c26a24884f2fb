//! The check of a table against sorted rows.

use super::rows::Rows;
use ogive::table::{Record, Table};
use std::fmt::Display;

/// The extent of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Approximate number of keys to look up.
    pub gets: usize,
    /// Approximate number of positions at which absent keys are looked up, scans started, and rows counted.
    pub places: usize,
}

impl Effort {
    /// For tests that run each time.
    pub const QUICK: Self = Self { gets: 3_000, places: 60 };
    /// Every key.
    pub const FULL: Self = Self { gets: usize::MAX, places: 1500 };

    /// Reduced so that lookups of this many bytes each read a few hundred MiB in total.
    pub(super) fn where_each_reads(self, bytes: u64) -> Self {
        let most = (READ_IN_ALL_BYTES / bytes.max(1)) as usize;
        // Each position takes several lookups and scans.
        Self { gets: self.gets.min(most.max(16)), places: self.places.min((most / 16).max(4)) }
    }
}

/// See [`Effort::where_each_reads`].
const READ_IN_ALL_BYTES: u64 = 256 << 20;

/// About `most` evenly spaced row numbers, including the first and the last.
pub(super) fn spread(most: usize, rows: usize) -> impl Iterator<Item = usize> {
    let step = rows.div_ceil(most.max(1)).max(1);
    (0..rows).step_by(step).chain(rows.checked_sub(1))
}

/// Rows of a scan that begins anywhere.
pub(super) const SCANNED_ROWS: usize = 12;
/// Rows of one key that are asked for together, at most.
const MOST_REPEATS: usize = 400;

/// Appends the value of a row.
type ValueOf<'a> = Box<dyn Fn(usize, &mut Vec<u8>) + 'a>;

/// The expected answers.
pub(super) struct Answers<'a> {
    pub(super) rows: &'a Rows,
    value: ValueOf<'a>,
}

impl<'a> Answers<'a> {
    /// Rows with the values that they have.
    pub(super) fn of(rows: &'a Rows) -> Self {
        Self::with(rows, |row, value| rows.value(row, value))
    }

    /// Rows with values that `value` puts into a buffer.
    pub(super) fn with(rows: &'a Rows, value: impl Fn(usize, &mut Vec<u8>) + 'a) -> Self {
        Self { rows, value: Box::new(value) }
    }

    pub(super) fn value(&self, row: usize) -> Vec<u8> {
        let mut value = Vec::new();
        (self.value)(row, &mut value);
        value
    }

    /// Whether this is the row.
    pub(super) fn is_row(&self, row: usize, key: &[u8], value: &[u8]) -> bool {
        row < self.rows.len() && self.rows.key(row) == key && self.value(row) == value
    }

    /// The first row of a key.
    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let row = self.rows.rank(key);
        (row < self.rows.len() && self.rows.key(row) == key).then_some(row)
    }

    /// Holds the value that was found for a key against the one there should be.
    pub(super) fn found(&self, how: &str, key: &[u8], value: Option<&[u8]>) -> Result<(), String> {
        match (self.find(key), value) {
            (None, None) => Ok(()),
            (Some(row), Some(value)) if self.value(row) == value => Ok(()),
            (Some(row), None) => Err(format!("{how}: the key {} of row {row} is denied", shown(key))),
            (Some(row), Some(_)) => Err(format!("{how}: the key {} of row {row} has another value", shown(key))),
            (None, Some(_)) => Err(format!("{how}: the key {} is found, and is not there", shown(key))),
        }
    }

    /// Holds a scan against the rows that it should show, in that order, at most `most` of them. `next` gives the next
    /// record.
    pub(super) fn follow<E: Display>(
        &self,
        how: &str,
        rows: impl Iterator<Item = usize>,
        most: usize,
        records: impl Iterator<Item = Result<(Vec<u8>, Vec<u8>), E>>,
    ) -> Result<(), String> {
        let mut rows = rows.take(most);
        for record in records.take(most) {
            let (key, value) = record.map_err(|error| format!("{how}: {error}"))?;
            match rows.next() {
                Some(row) if self.is_row(row, &key, &value) => {}
                Some(row) => return Err(format!("{how}: {} in place of row {row}", shown(&key))),
                None => return Err(format!("{how}: {} behind the last row", shown(&key))),
            }
        }
        rows.next().map_or(Ok(()), |row| Err(format!("{how}: it ends before row {row}")))
    }
}

/// A key, for messages.
pub(super) fn shown(key: &[u8]) -> String {
    let tail = key.len().saturating_sub(40);
    let dots = if tail > 0 { "..." } else { "" };
    format!("{dots}{} ({} bytes)", key[tail..].escape_ascii(), key.len())
}

/// Says what was being done when an error came.
pub(super) fn doing<T, E: Display>(what: &str, outcome: Result<T, E>) -> Result<T, String> {
    outcome.map_err(|error| format!("{what}: {error}"))
}

/// Holds all that a table answers against the rows.
pub(super) fn check_table(table: &Table, answers: &Answers<'_>, effort: Effort) -> Result<(), String> {
    let rows = answers.rows;
    if table.len() != rows.len() as u64 {
        return Err(format!("the table has {} records, not {}", table.len(), rows.len()));
    }
    let report = doing("verify", table.verify(&mut |_, _| {}))?;
    if let Some(first) = report.findings.first() {
        let count = report.findings.len() as u64 + report.further_findings;
        return Err(format!("verify: {count} findings, the first at byte {}: {}", first.offset, first.detail));
    }
    answers.follow("forward", 0..rows.len(), usize::MAX, table.iter())?;
    answers.follow("backward", (0..rows.len()).rev(), usize::MAX, table.iter().rev())?;
    for row in spread(effort.gets, rows.len()) {
        let found = doing("get", table.get(rows.key(row)))?;
        answers.found("get", rows.key(row), found.as_deref())?;
    }
    let mut before = rows.edges().swap_remove(0);
    for row in spread(effort.places, rows.len()) {
        check_place(table, answers, rows.key(row), &before)?;
        for key in rows.neighbours(row) {
            check_key(table, answers, &key)?;
        }
        let nth: Option<Record> = doing("nth", table.nth(row as u64))?;
        if !nth.is_some_and(|(key, value)| answers.is_row(row, &key, &value)) {
            return Err(format!("nth: another record than row {row}"));
        }
        before = rows.key(row).to_vec();
    }
    for key in rows.edges() {
        check_place(table, answers, &key, &before)?;
    }
    check_many(table, answers, effort)
}

/// Asks for one key, present or absent.
fn check_key(table: &Table, answers: &Answers<'_>, key: &[u8]) -> Result<(), String> {
    let found = doing("get", table.get(key))?;
    answers.found("get", key, found.as_deref())?;
    if doing("contains_key", table.contains_key(key))? != answers.find(key).is_some() {
        return Err(format!("contains_key: wrong for {}", shown(key)));
    }
    let (rank, expected) = (doing("rank", table.rank(key))?, answers.rows.rank(key) as u64);
    if rank != expected {
        return Err(format!("rank: {rank} for {}, and {expected} is right", shown(key)));
    }
    Ok(())
}

/// Asks for a key, scans from it both ways, and counts from another one.
fn check_place(table: &Table, answers: &Answers<'_>, key: &[u8], other: &[u8]) -> Result<(), String> {
    let rows = answers.rows;
    check_key(table, answers, key)?;
    let (first, behind) = (rows.rank(key), rows.through(key));
    let how = format!("scan from {}", shown(key));
    answers.follow(&how, first..rows.len(), SCANNED_ROWS, table.range(key..))?;
    let how = format!("scan back from {}", shown(key));
    answers.follow(&how, (0..behind).rev(), SCANNED_ROWS, table.range(..=key).rev())?;
    if other <= key {
        let expected = (behind - rows.rank(other)) as u64;
        let count = doing("count", table.count(other..=key))?;
        if count != expected {
            return Err(format!("count: {count} up to {}, and {expected} is right", shown(key)));
        }
    }
    if behind - first < MOST_REPEATS {
        let all = doing("get_all", table.get_all(key))?;
        if all.len() != behind - first || all.iter().zip(first..).any(|(value, row)| answers.value(row) != *value) {
            return Err(format!("get_all: other values for {}", shown(key)));
        }
    }
    Ok(())
}

/// Asks for many keys at once.
fn check_many(table: &Table, answers: &Answers<'_>, effort: Effort) -> Result<(), String> {
    let rows = answers.rows;
    let asked: Vec<usize> = spread(effort.places, rows.len()).collect();
    let keys: Vec<&[u8]> = asked.iter().map(|&row| rows.key(row)).collect();
    let found = doing("multi_get", table.multi_get(&keys))?;
    if found.len() != keys.len() {
        return Err("multi_get: not one answer for each key".to_owned());
    }
    keys.iter().zip(&found).try_for_each(|(key, value)| answers.found("multi_get", key, value.as_deref()))
}
