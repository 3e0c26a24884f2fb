//! `ogive db apply`: applies changes of any keyspaces as one transaction, if keys have the values that are expected.

use super::keys::{self, Keys};
use super::store::{DEFAULT_KEYSPACE, StoreFolder, existing};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::reading::paced_lines::{NextLine, PacedLines};
use crate::reading::standard_input::{input_named, shown};
use crate::values::json_field::{key_of_json, value_of_json};
use crate::values::size::{counted, human_bytes};
use ogive::lsm::{Batch, Db, PinnedTypes};
use ogive::{Cause, Error};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  ogive db apply bank transfer.jsonl           apply all changes of a file, or none
  ogive db apply bank - --json                 from standard input, with a conflict as an object

Each line is an object with one change, or with one condition:
  {\"put\": {\"keyspace\": \"money\", \"key\": \"ann\", \"value\": {\"amount\": 70}}}
  {\"remove\": {\"keyspace\": \"money\", \"key\": \"bob\"}}
  {\"expect\": {\"keyspace\": \"money\", \"key\": \"ann\", \"value\": {\"amount\": 100}}}
  {\"expect\": {\"keyspace\": \"money\", \"key\": \"cid\", \"value\": null}}

Keys and values are written as `ogive get --json` and `ogive scan --json` print them: rows as objects of their fields,
keys of several columns as arrays, bytes that are not text as {\"hex\": \"00ff\"}. Fields that are missing are null. An
expected value of null, or none, means that the key is absent. Without \"keyspace\", a line is about the keyspace
'default'. Of two changes of a key, the later one wins. The store and its keyspaces must be there.

All changes are one transaction: they are durable together when the command returns, or nothing is changed. If a key
does not have the value that is expected, the command names it with its keyspace and exits with 1; with --json, the
error has {\"conflict\": {\"keyspace\": ..., \"key\": ...}}. A line that cannot be read is wrong usage, and is named.";

/// All lines together take at most this part of the memory: they are held until the store is open, and with them the
/// changes that they make.
const LINES_DIVISOR: u64 = 4;

/// Apply changes as one transaction, if keys have expected values
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbApply {
    #[command(flatten)]
    store: StoreFolder,

    /// File of JSON lines, each a put, a remove or an expect; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,
}

/// What a line says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StatedChange {
    Put(NamedRecord),
    Remove(NamedKey),
    Expect(NamedRecord),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedRecord {
    #[serde(default = "default_keyspace")]
    keyspace: String,
    key: Box<RawValue>,
    value: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedKey {
    #[serde(default = "default_keyspace")]
    keyspace: String,
    key: Box<RawValue>,
}

fn default_keyspace() -> String {
    DEFAULT_KEYSPACE.to_owned()
}

/// A change with the number of its line, from 1.
type NumberedChange = (u64, StatedChange);

/// Runs the command.
pub(crate) fn run(arguments: &DbApply, output: &mut Output) -> Result<Outcome> {
    // Before the store is locked: the writer of a pipe may take its time.
    let changes = arguments.read()?;
    let store = &arguments.store;
    let db = store.write()?;
    let mut applied =
        AppliedChanges { store, db: &db, file: arguments.path(), keyspaces: BTreeMap::new(), counts: [0; 2] };
    let committed = applied.batch(&changes).and_then(|batch| batch.commit().map_err(|error| keys::refusal(&db, error)));
    let told = match committed {
        Ok(()) => Ok(applied.counts),
        Err(Failure::Engine(error)) if error.cause == Cause::Conflict => Err(applied.conflict(&error)),
        Err(failure) => return Err(failure),
    };
    drop(applied);
    let [applied, expected] = told?;
    db.close().map_err(|error| Failure::from(error).but("the changes are durable"))?;
    match output.is_json() {
        true => output.json(&json!({ "applied": applied, "expected": expected }))?,
        false => output.line(format_args!("{store}: {} applied", counted(applied, "change")))?,
    }
    Ok(Outcome::Done)
}

impl DbApply {
    fn path(&self) -> &Path {
        input_named(&self.file)
    }

    /// The changes of the file; empty lines are none.
    fn read(&self) -> Result<Vec<NumberedChange>> {
        let path = self.path();
        let failed = |action| move |source| Failure::File { action, path: shown(path).to_string(), source };
        let mut lines = PacedLines::open(path).map_err(failed("open"))?;
        let (mut changes, mut number, mut bytes, most) = (Vec::new(), 0, 0, self.store.memory_bytes() / LINES_DIVISOR);
        loop {
            let line = match lines.next().map_err(failed("read"))? {
                NextLine::Line(line) => line,
                NextLine::Pause => continue,
                NextLine::End => return Ok(changes),
            };
            number += 1;
            bytes += line.len() as u64;
            if bytes > most {
                let message = format!("{} has more than {} of lines", shown(path), human_bytes(most));
                return Err(Failure::refused(message, "divide it over several transactions, or raise --memory"));
            }
            if !line.trim_ascii().is_empty() {
                changes.push((number, serde_json::from_slice(&line).map_err(|error| malformed(path, number, &error))?));
            }
        }
    }
}

/// The failure of a line that is no change.
fn malformed(path: &Path, line: u64, error: &serde_json::Error) -> Failure {
    let message = error.to_string();
    let reason = message.split(" at line ").next().unwrap_or_default();
    wrong_line(path, line, &format!("{reason} (column {})", error.column()))
}

fn wrong_line(path: &Path, line: u64, fault: &str) -> Failure {
    let hint =
        r#"write {"put": ...}, {"remove": ...} or {"expect": ...} with "keyspace", "key" and "value"; see --help"#;
    Failure::usage(format!("line {line} of {}: {fault}; nothing was written", shown(path)), hint)
}

/// Changes that are being applied.
struct AppliedChanges<'a> {
    store: &'a StoreFolder,
    db: &'a Db,
    file: &'a Path,
    keyspaces: BTreeMap<String, OpenTypes>,
    /// Numbers of changes and of conditions.
    counts: [u64; 2],
}

/// A keyspace with its types.
struct OpenTypes {
    pinned: PinnedTypes,
    keys: Keys,
}

impl AppliedChanges<'_> {
    fn batch(&mut self, changes: &[NumberedChange]) -> Result<Batch> {
        let mut batch = self.db.batch();
        for (line, change) in changes {
            self.add(&mut batch, *line, change)?;
        }
        Ok(batch)
    }

    fn add(&mut self, batch: &mut Batch, line: u64, change: &StatedChange) -> Result<()> {
        let (StatedChange::Put(NamedRecord { keyspace, key, .. })
        | StatedChange::Expect(NamedRecord { keyspace, key, .. })
        | StatedChange::Remove(NamedKey { keyspace, key })) = change;
        let file = self.file;
        let wrong = |fault: String| wrong_line(file, line, &fault);
        let OpenTypes { pinned, keys } = self.keyspace(keyspace)?;
        let key = key_of_json(keys.key_type(), key).map_err(wrong)?;
        let types = pinned.types();
        let value = |written: &RawValue| match types.is_keys_only() {
            true => Err(wrong(format!("the records of the keyspace {keyspace:?} are keys alone, without values"))),
            false => value_of_json(&types.values, written).map_err(wrong),
        };
        match change {
            StatedChange::Put(NamedRecord { value: None, .. }) if !types.is_keys_only() => {
                return Err(wrong("a put has no value".to_owned()));
            }
            StatedChange::Put(record) => {
                let value = record.value.as_deref().map_or(Ok(Vec::new()), value)?;
                batch.pin(pinned).insert(pinned.keyspace(), key, value);
            }
            StatedChange::Remove(_) => _ = batch.pin(pinned).remove(pinned.keyspace(), key),
            StatedChange::Expect(record) => {
                let value = record.value.as_deref().map(value).transpose()?;
                batch.expect_as(pinned, key, value.as_deref());
            }
        }
        self.counts[usize::from(matches!(change, StatedChange::Expect(_)))] += 1;
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

    /// The failure of a conflict.
    fn conflict(&self, error: &Error) -> Failure {
        let (name, key) = (error.name(), error.key().unwrap_or_default());
        let keys = self.keyspaces.get(name).map(|keyspace| keyspace.keys);
        let shown = keys.map(|keys| keys.shown(key)).unwrap_or_default();
        let message = format!(
            "{}: conflict: the key {shown} of the keyspace {name:?} does not have the value that is expected; nothing \
             was written",
            self.store
        );
        let key = keys.map_or(serde_json::Value::Null, |keys| keys.to_json(key));
        Failure::Conflict { message, keyspace: name.to_owned(), key }
    }
}
