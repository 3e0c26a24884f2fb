//! `ogive db apply`: applies changes of any keyspaces as one transaction, if keys have the values that are expected.

use super::lines::{ChangeLine, FORM, NamedRange, NamedRecord, StatedChange, bound_of_json};
use crate::commands::db::keys::{self, Keys};
use crate::commands::db::store::{StoreFolder, existing};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::reading::paced_lines::{NextLine, PacedLines};
use crate::reading::standard_input::{input_named, shown};
use crate::values::json_field::{key_of_json, value_of_json};
use crate::values::size::{counted, human_bytes};
use ogive::lsm::{Batch, Db, PinnedTypes};
use ogive::{Cause, Error};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Bound;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  ogive db apply bank transfer.jsonl           apply all changes of a file, or none
  ogive db apply bank - --json                 from standard input, with a conflict as an object
  ogive db changes bank --since 0123456789abcdef-42 | ogive db apply copy - --batches
                                               make the same changes to another store, batch by batch

Each line is an object with one change, or with one condition, as `ogive db changes` prints them:
  {\"put\": {\"keyspace\": \"money\", \"key\": \"ann\", \"value\": {\"amount\": 70}}}
  {\"put\": {\"key\": \"report\", \"value\": \"ann\", \"expires\": \"2030-01-31T12:00:00\"}}
  {\"remove\": {\"keyspace\": \"money\", \"key\": \"bob\"}}
  {\"remove_range\": {\"keyspace\": \"money\", \"from\": \"c\", \"to\": null}}
  {\"expect\": {\"keyspace\": \"money\", \"key\": \"ann\", \"value\": {\"amount\": 100}}}
  {\"expect\": {\"keyspace\": \"money\", \"key\": \"cid\", \"value\": null}}

Keys and values are written as `ogive get --json` prints them: rows as objects of their fields, keys of several columns
as arrays, bytes that are not text as {\"hex\": \"00ff\"}. Fields that are missing are null. An expected value of null,
or none, means that the key is absent. \"expires\" is a time in UTC. A range has the key \"from\", and not \"to\"; null
is for no end. Without \"keyspace\", a line is about the keyspace 'default'. Of two changes of a key, the later one
wins. The store and its keyspaces must be there.

All changes are one transaction: they are durable together when the command returns, or nothing is changed. If a key
does not have the value that is expected, the command names it with its keyspace and exits with 1; with --json, the
error has {\"conflict\": {\"keyspace\": ..., \"key\": ...}}. A line that cannot be read is wrong usage, and is named.
With --batches, each batch of `ogive db changes` is a transaction, which is durable before the next one is read: a line
with a \"position\" ends it. Only then are keyspaces dropped: {\"drop\": {\"keyspace\": ...}}.";

/// The lines of a transaction take at most this part of the memory: they are held until the store is open, and with
/// them the changes that they make.
const LINES_DIVISOR: u64 = 4;

/// Apply changes as one transaction, if keys have expected values
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbApply {
    #[command(flatten)]
    store: StoreFolder,

    /// File of JSON lines, each a change or an expected value; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// Make a transaction of each batch: a line with a "position" is the last one of its batch
    #[arg(long)]
    batches: bool,
}

/// A change with the number of its line, from 1.
type NumberedChange = (u64, StatedChange);

/// Runs the command.
pub(crate) fn run(arguments: &DbApply, output: &mut Output) -> Result<Outcome> {
    let store = &arguments.store;
    let mut lines = ChangeLines::open(arguments)?;
    // Before the store is locked: the writer of a pipe may take its time.
    let mut changes = lines.transaction().map_err(|failure| failure.but(NOTHING))?;
    let db = store.write()?;
    let mut applied =
        AppliedChanges { store, db: &db, file: lines.path, keyspaces: BTreeMap::new(), done: Done::default() };
    while let Some(transaction) = changes.take() {
        let next = applied.apply(&transaction).and_then(|()| lines.transaction());
        changes = next.map_err(|failure| failure.but(applied.done.told()))?;
    }
    let done = applied.done;
    drop(applied);
    db.close().map_err(|error| Failure::from(error).but("the changes are durable"))?;
    if output.is_json() {
        let mut object = json!({ "applied": done.applied, "expected": done.expected });
        if arguments.batches {
            object["transactions"] = done.transactions.into();
        }
        output.json(&object)?;
    } else {
        let batches = if arguments.batches {
            format!(" in {}", counted(done.transactions, "transaction"))
        } else {
            String::new()
        };
        output.line(format_args!("{store}: {} applied{batches}", counted(done.applied, "change")))?;
    }
    Ok(Outcome::Done)
}

/// What a failure leaves of the first transaction.
const NOTHING: &str = "nothing was written";

/// What was applied.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    applied: u64,
    expected: u64,
    transactions: u64,
}

impl Done {
    /// What a failure has left.
    fn told(self) -> String {
        match self.transactions {
            0 => NOTHING.to_owned(),
            count => {
                format!("{} before it, {}, are durable", counted(count, "transaction"), counted(self.applied, "change"))
            }
        }
    }
}

/// The lines of an input, as transactions.
struct ChangeLines<'a> {
    path: &'a Path,
    lines: PacedLines,
    /// The number of the last line that was read.
    number: u64,
    /// Most bytes of the lines of a transaction.
    bytes_max: u64,
    /// Whether a position ends a transaction.
    in_batches: bool,
    has_ended: bool,
}

impl<'a> ChangeLines<'a> {
    fn open(arguments: &'a DbApply) -> Result<Self> {
        let path = input_named(&arguments.file);
        let failed = |source| Failure::File { action: "open", path: shown(path).to_string(), source };
        let lines = PacedLines::open(path).map_err(failed)?;
        let bytes_max = arguments.store.memory_bytes() / LINES_DIVISOR;
        Ok(Self { path, lines, number: 0, bytes_max, in_batches: arguments.batches, has_ended: false })
    }

    /// The changes of the next transaction; empty lines are none. `None` behind the last one.
    fn transaction(&mut self) -> Result<Option<Vec<NumberedChange>>> {
        let path = self.path;
        let failed = |source| Failure::File { action: "read", path: shown(path).to_string(), source };
        let (mut changes, mut bytes) = (Vec::new(), 0);
        if self.has_ended {
            return Ok(None);
        }
        loop {
            let line = match self.lines.next().map_err(failed)? {
                NextLine::Line(line) => line,
                NextLine::Pause => continue,
                NextLine::End => {
                    self.has_ended = true;
                    break;
                }
            };
            self.number += 1;
            bytes += line.len() as u64;
            if bytes > self.bytes_max {
                let message = format!("{} has more than {} of lines", shown(path), human_bytes(self.bytes_max));
                let hint = "divide it over several transactions, as --batches does, or raise --memory";
                return Err(Failure::refused(message, hint));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let read: ChangeLine =
                serde_json::from_slice(&line).map_err(|error| malformed(path, self.number, &error))?;
            let (change, position) = read.stated().map_err(|fault| wrong_line(path, self.number, fault))?;
            changes.push((self.number, change));
            if self.in_batches && position.is_some() {
                break;
            }
        }
        // A file without lines is an empty transaction; behind the last batch there is none.
        Ok(if changes.is_empty() && self.in_batches { None } else { Some(changes) })
    }
}

/// The failure of a line that is no change.
fn malformed(path: &Path, line: u64, error: &serde_json::Error) -> Failure {
    let message = error.to_string();
    let reason = message.split(" at line ").next().unwrap_or_default();
    wrong_line(path, line, &format!("{reason} (column {})", error.column()))
}

fn wrong_line(path: &Path, line: u64, fault: &str) -> Failure {
    Failure::usage(format!("line {line} of {}: {fault}", shown(path)), format!("write {FORM}; see --help"))
}

/// Changes that are being applied.
struct AppliedChanges<'a> {
    store: &'a StoreFolder,
    db: &'a Db,
    file: &'a Path,
    keyspaces: BTreeMap<String, OpenTypes>,
    done: Done,
}

/// A keyspace with its types.
struct OpenTypes {
    pinned: PinnedTypes,
    keys: Keys,
}

impl AppliedChanges<'_> {
    /// Applies the changes of a transaction.
    fn apply(&mut self, changes: &[NumberedChange]) -> Result<()> {
        if let [(_, StatedChange::Drop(dropped))] = changes {
            keys::check_name(&dropped.keyspace)?;
            self.keyspaces.remove(&dropped.keyspace);
            self.db.drop_keyspace(&dropped.keyspace)?;
        } else {
            let mut batch = self.db.batch();
            changes.iter().try_for_each(|(line, change)| self.add(&mut batch, *line, change))?;
            batch.commit().map_err(|error| self.failed(error))?;
        }
        let expected = changes.iter().filter(|(_, change)| matches!(change, StatedChange::Expect(_))).count() as u64;
        self.done.expected += expected;
        self.done.applied += changes.len() as u64 - expected;
        self.done.transactions += 1;
        Ok(())
    }

    fn add(&mut self, batch: &mut Batch, line: u64, change: &StatedChange) -> Result<()> {
        let file = self.file;
        let wrong = |fault: String| wrong_line(file, line, &fault);
        let name = change.keyspace();
        let OpenTypes { pinned, keys } = self.keyspace(name)?;
        let key_of = |key: &RawValue| key_of_json(keys.key_type(), key).map_err(wrong);
        let types = pinned.types();
        let value_of = |written: &RawValue| match types.is_keys_only() {
            true => Err(wrong(format!("the records of the keyspace {name:?} are keys alone, without values"))),
            false => value_of_json(&types.values, written).map_err(wrong),
        };
        match change {
            StatedChange::Put(NamedRecord { value: None, .. }) if !types.is_keys_only() => {
                return Err(wrong("a put has no value".to_owned()));
            }
            StatedChange::Put(record) => {
                let key = key_of(&record.key)?;
                let value = record.value.as_deref().map_or(Ok(Vec::new()), value_of)?;
                let (batch, keyspace) = (batch.pin(pinned), pinned.keyspace());
                match record.expires {
                    Some(expires) => batch.insert_with(keyspace, key, value, expires),
                    None => batch.insert(keyspace, key, value),
                };
            }
            StatedChange::Remove(removed) => {
                let key = key_of(&removed.key)?;
                batch.pin(pinned).remove(pinned.keyspace(), key);
            }
            StatedChange::RemoveRange(NamedRange { from, to, .. }) => {
                let end = |end: &RawValue| bound_of_json(keys.key_type(), end).map_err(wrong);
                let from = from.as_deref().map(end).transpose()?.map_or(Bound::Unbounded, Bound::Included);
                let to = to.as_deref().map(end).transpose()?.map_or(Bound::Unbounded, Bound::Excluded);
                batch.pin(pinned).remove_range(pinned.keyspace(), (from, to));
            }
            StatedChange::Expect(record) => {
                let key = key_of(&record.key)?;
                let value = record.value.as_deref().map(value_of).transpose()?;
                batch.expect_as(pinned, key, value.as_deref());
            }
            StatedChange::Drop(_) => {
                return Err(wrong(
                    "a keyspace is dropped by itself, with --batches, or by `ogive db drop-keyspace`".into(),
                ));
            }
        }
        Ok(())
    }

    /// A keyspace with its types, which stay until the changes are applied.
    fn keyspace(&mut self, name: &str) -> Result<&OpenTypes> {
        if !self.keyspaces.contains_key(name) {
            keys::check_name(name)?;
            let keyspace = existing(self.db, self.store.path(), name)?;
            let keys = keys::of(self.db, &keyspace, None)?;
            self.keyspaces.insert(name.to_owned(), OpenTypes { pinned: keyspace.pin_types(), keys });
        }
        Ok(&self.keyspaces[name])
    }

    /// The failure of a commit, which names the key of a conflict.
    fn failed(&self, error: Error) -> Failure {
        if error.cause != Cause::Conflict {
            return keys::refusal(self.db, error);
        }
        let (name, key) = (error.name(), error.key().unwrap_or_default());
        let keys = self.keyspaces.get(name).map(|keyspace| keyspace.keys);
        let shown = keys.map(|keys| keys.shown(key)).unwrap_or_default();
        let message = format!(
            "{}: conflict: the key {shown} of the keyspace {name:?} does not have the value that is expected",
            self.store
        );
        let key = keys.map_or(serde_json::Value::Null, |keys| keys.to_json(key));
        Failure::Conflict { message, keyspace: name.to_owned(), key }
    }
}
