//! `ogive db import`: puts the records of a file in.

use super::store::KeyspaceOptions;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::input::{Format, Input, InputOptions};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::size::grouped;
use ogive::lsm::{Batch, Db, Durability, Keyspace};
use ogive::table::KeyType;
use serde_json::json;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  ogive db import ids rows.csv --key id --value name     columns by name or number
  ogive db import numbers keys.u64 --payload 64          SOSD keys, with values made from them
  ogive db import ids more.csv --key id --value name --batch 1000 --json
                                                         tell after every batch how many rows are durable

The store is made if it is not there. Rows are inserted in the order of the file, in batches that are wholly there or not at all; a
key that comes again overwrites. With --json each durable batch is told by a line {\"durable_rows\":N}: these rows, counted from the
first of the file, survive whatever happens. Keys of text files are taken as they are written, unless --key-type says that they are
numbers. Whatever ends an import early, the message says how many rows are durable; importing the file again is safe.";

/// Fill a store from a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    #[command(flatten)]
    input: InputOptions,

    /// Rows to a batch
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
}

/// A batch of more bytes is committed before it has all of its rows.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let interrupt = Interrupt::watch();
    arguments.input.refuse_table()?;
    let key_type = key_type(&arguments.input)?;
    let mut input = arguments.input.open(key_type)?;
    // The file is there and is what it should be, as far as can be seen; so the store is made.
    let open = arguments.keyspace.create(Durability::Synced, Some(key_type))?;
    if !is_compatible(open.keys.key_type(), key_type) {
        let message =
            format!("the keys of the store are taken for {}, those of the input for {key_type}", open.keys.key_type());
        return Err(Failure::usage(message, "leave out --keys, or give both the same type"));
    }
    let progress = Progress::start("importing", input.facts().length_bytes, Unit::Bytes);
    let mut rows = Rows { db: &open.db, batch: open.db.batch(), done: 0, progress, output };
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
        let shown = arguments.keyspace.store.shown();
        output.line(format_args!("{shown}: {} rows imported in {seconds:.1} s", grouped(done)))?;
    }
    Ok(Outcome::Done)
}

/// What the keys of the input are: those of text as they are written, unless somebody says otherwise.
fn key_type(input: &InputOptions) -> Result<KeyType> {
    match (input.key_type, input.format()) {
        (Some(key_type), _) => Ok(key_type),
        (None, Format::Lines | Format::Csv | Format::Tsv) => Ok(KeyType::Bytes),
        (None, Format::Sosd | Format::Parquet) => input.first_key_type(),
    }
}

/// Whether keys of an input are what they are taken for in the store.
fn is_compatible(store: KeyType, input: KeyType) -> bool {
    let plain = |key_type| matches!(key_type, KeyType::Text | KeyType::Bytes);
    store == input || plain(store) && plain(input)
}

/// Rows on their way into a store.
struct Rows<'a> {
    db: &'a Db,
    batch: Batch,
    done: u64,
    progress: Progress,
    output: &'a mut Output,
}

impl Rows<'_> {
    /// Takes all records of an input, batch by batch.
    fn take(&mut self, input: &mut dyn Input, keyspace: &Keyspace, batch: u64, interrupt: &Interrupt) -> Result<()> {
        while let Some(record) = input.next()? {
            self.batch.insert(keyspace, record.key, record.value);
            if self.batch.len() >= batch || self.batch.byte_len() >= BATCH_BYTES_MAX {
                self.commit(input.position_bytes())?;
                interrupt.check()?;
            }
        }
        // An interrupt ends a whole pipeline: what comes here as the end of the input may be the end of who wrote it.
        interrupt.check()?;
        self.commit(input.position_bytes())
    }

    /// Makes the rows of a batch durable, and says so.
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
            // Whoever reads it may rely on it at once.
            self.output.flush()?;
        }
        Ok(())
    }
}
