//! `ogive db import`: imports the records of a file.

use super::store::KeyspaceOptions;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::input::{Format, Input, InputOptions};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::size::grouped;
use ogive::lsm::{Batch, Db, Keyspace};
use ogive::{Durability, KeyType};
use serde_json::json;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  ogive db import ids rows.csv --key id --value name     columns by name or number
  ogive db import numbers keys.u64 --payload 64          SOSD keys, with values derived from them
  ogive db import ids more.csv --key id --value name --batch 1000 --json
                                                         report the number of durable rows after every batch

Creates the store if necessary. Inserts rows in the order of the file, in atomic batches; a repeated key overwrites the
earlier entry. With --json, prints {\"durable_rows\":N} after each batch: the first N rows of the file are durable.
Keys of text files are stored as written unless --key-type makes them numbers. If the import ends early, the message
gives the number of durable rows; it is safe to import the file again.";

/// Import a file into a store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbImport {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    #[command(flatten)]
    input: InputOptions,

    /// Rows per batch
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
}

/// A larger batch is committed before it has all of its rows.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// Runs the command.
pub(crate) fn run(arguments: &DbImport, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let interrupt = Interrupt::watch();
    arguments.input.refuse_table()?;
    let key_type = key_type(&arguments.input)?;
    let mut input = arguments.input.open(key_type)?;
    // Before anything is created, so that a refused import leaves no store, no keyspace and no type.
    arguments.keyspace.asked_keys().map_or(Ok(()), |asked| check_compatible(asked, key_type))?;
    let open = arguments.keyspace.create(Durability::Synced, Some(key_type))?;
    check_compatible(open.keys.key_type(), key_type)?;
    let progress = Progress::start("importing", input.facts().length_bytes, Unit::Bytes);
    let mut rows = ImportRows { db: &open.db, batch: open.db.batch(), done: 0, progress, output };
    let imported = rows.take(&mut *input, &open.keyspace, arguments.batch, &interrupt);
    let done = rows.done;
    drop(rows);
    let durable = match done {
        0 => "no row is durable".to_owned(),
        done => format!("the first {} rows are durable", grouped(done)),
    };
    imported.map_err(|failure| failure.but(&durable))?;
    open.close(&durable)?;
    if !output.is_json() {
        let seconds = started.elapsed().as_secs_f64();
        let shown = &arguments.keyspace.store;
        output.line(format_args!("{shown}: {} rows imported in {seconds:.1} s", grouped(done)))?;
    }
    Ok(Outcome::Done)
}

/// The key type of the input: bytes for text files, unless given.
fn key_type(input: &InputOptions) -> Result<KeyType> {
    match (input.key_type, input.format()) {
        (Some(key_type), _) => Ok(key_type),
        (None, Format::Lines | Format::Csv | Format::Tsv) => Ok(KeyType::Bytes),
        (None, Format::Sosd | Format::Parquet) => input.first_key_type(),
    }
}

/// Checks that the keys of an input fit the key type of the store.
fn check_compatible(store: KeyType, input: KeyType) -> Result<()> {
    let plain = |key_type| matches!(key_type, KeyType::Text | KeyType::Bytes);
    if store == input || plain(store) && plain(input) {
        return Ok(());
    }
    let message = format!("the keys of the store are of type {store}, those of the input {input}");
    Err(Failure::usage(message, format!("add --key-type {store}, or use the same type for both")))
}

/// An import in progress.
struct ImportRows<'a> {
    db: &'a Db,
    batch: Batch,
    done: u64,
    progress: Progress,
    output: &'a mut Output,
}

impl ImportRows<'_> {
    /// Imports all records of an input, batch by batch.
    fn take(&mut self, input: &mut dyn Input, keyspace: &Keyspace, batch: u64, interrupt: &Interrupt) -> Result<()> {
        while let Some(record) = input.next()? {
            self.batch.insert(keyspace, record.key, record.value);
            if self.batch.len() >= batch || self.batch.byte_len() >= BATCH_BYTES_MAX {
                self.commit(input.position_bytes())?;
                interrupt.check()?;
            }
        }
        // An interrupt ends a whole pipeline, so the input may have ended early.
        interrupt.check()?;
        self.commit(input.position_bytes())
    }

    /// Commits a batch and reports it.
    fn commit(&mut self, position_bytes: u64) -> Result<()> {
        let batch = std::mem::replace(&mut self.batch, self.db.batch());
        let rows = batch.len();
        if rows == 0 && self.done > 0 {
            return Ok(());
        }
        batch.commit()?;
        self.done += rows;
        self.progress.reach(position_bytes);
        if self.output.is_json() {
            self.output.json(&json!({ "durable_rows": self.done }))?;
            // Readers may rely on it immediately.
            self.output.flush()?;
        }
        Ok(())
    }
}
