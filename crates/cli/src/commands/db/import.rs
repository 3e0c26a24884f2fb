//! `ogive db import`: imports the records of a file.

use super::keys::{self, Brought};
use super::repeats::Repeats;
use super::store::{KeyspaceName, KeyspaceOptions};
use crate::failure::{Failure, Result};
use crate::input::{Format, Input, InputOptions, KEYSPACE, KnownColumns, TypeSample, blame_durable_rows, blame_holder};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::values::size::{counted, positive_count, the_first};
use ogive::lsm::{Batch, Db, Keyspace};
use ogive::types::{RecordType, ValueType};
use ogive::{Durability, KeyType};
use serde_json::{Value, json};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  ogive db import ids rows.csv --key id --value name     columns by name or number
  ogive db import prices rows.csv --key id --value price --value-type 'decimal(8,2)'
                                                         values of one column that are scalars, and no rows
  ogive db import numbers keys.u64 --payload 64          SOSD keys, with values derived from them
  ogive db import ids more.csv --key id --value name --batch 1000 --json
                                                         report the number of durable rows after every batch

Creates the store if necessary. Inserts rows in the order of the file, in atomic batches; a repeated key overwrites the
earlier entry, and a note counts such rows if neither --key nor the keyspace says what the key is. With --json, prints
{\"durable_rows\":N} after each batch: the first N rows of the file are durable.
Types of keys and columns are those of the keyspace, which --key-type, --type and --value-type change only while it has
no rows; for a new keyspace they are as given, as an export to Parquet states them, or found as by `ogive build`.
Columns of a keyspace with rows are found by their names, in any order; those that may be null can be missing. A row
replaces the whole row with the same key: missing columns become null. A key of one column is never null, unless
--key-type allows it, as '(u64?)' does; an empty field is empty text; for other types it is an error. Lines and SOSD
keys without --payload are keys alone, as are files of a key column only; a keyspace takes either these or values. If
the import ends early, the message gives the number of durable rows; it is safe to import the file again.";

/// Import a file into a store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbImport {
    #[command(flatten)]
    name: KeyspaceName,

    /// The former spelling of --key-type.
    #[arg(long, value_name = "TYPE", hide = true)]
    keys: Option<KeyType>,

    #[command(flatten)]
    input: InputOptions,

    /// Append missing columns to the rows of the keyspace; they are null in existing rows
    #[arg(long)]
    add_columns: bool,

    /// Rows per batch
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = positive_count)]
    batch: u64,
}

/// A larger batch is committed before it has all of its rows.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// What is there if the first batch was not committed.
const NOTHING: &str = "no row is durable";

/// Runs the command.
pub(crate) fn run(arguments: &DbImport, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let interrupt = Interrupt::watch();
    arguments.input.refuse_table_but("`ogive db ingest` adds the records of a table to a store")?;
    let keyspace = KeyspaceOptions { name: arguments.name.clone(), keys: arguments.keys };
    // Before anything is created, so that a refused import leaves no store, no keyspace and no types.
    let (mut known, is_empty) = match keyspace.known_types()? {
        Some((types, is_empty)) => (Some(types), is_empty),
        None => (None, true),
    };
    let restates = is_empty && arguments.names_types();
    let ended = |failure: Failure| if interrupt.is_asked() { failure.but(NOTHING) } else { failure };
    // What a pipe contains is known once it is kept, or copied.
    let (given, _scratch) = arguments.input.readable_once(&interrupt).map_err(ended)?;
    let mut input_options = typed(arguments, &given, &known);
    let is_rereadable = input_options.is_rereadable();
    let schema = match input_options.schema(TypeSample::LongStart) {
        Err(_) if restates && known.take().is_some() => {
            input_options = typed(arguments, &given, &known);
            input_options.schema(TypeSample::LongStart)
        }
        schema => schema,
    };
    let schema = schema.map_err(ended)?;
    let mut input = input_options.open(&schema)?;
    let types = &input.facts().record_type;
    let blamed = |failure| match &known {
        Some(known) => blame_holder(failure, KEYSPACE, known),
        None => failure,
    };
    if is_rereadable && input_options.skip_bad_rows.is_none() {
        // The first record shows most mistakes.
        input_options.open(&schema)?.next().map_err(|error| blamed(error.into()))?;
    }
    let open = keyspace.create(Durability::Synced, Some(Brought { types, restates }))?;
    schema.tell();
    let progress = Progress::start("importing", input.facts().length_bytes, Unit::Bytes);
    let repeats = arguments.takes_first_column(&input_options, known.as_ref()).then(Repeats::default);
    let mut rows = ImportRows { db: &open.db, batch: open.db.batch(), done: 0, repeats, progress, output };
    let imported = rows.take(&mut *input, &open.keyspace, arguments.batch, &interrupt);
    let ImportRows { done, repeats, .. } = rows;
    let types = open.types();
    let durable = match done {
        0 => NOTHING.to_owned(),
        done => format!("{} durable", the_first(done, "row")),
    };
    if let Err(failure) = imported {
        // The failure to import says more than one to take back.
        _ = open.take_back();
        let failure = if done > 0 && known.is_none() { blame_durable_rows(failure) } else { blamed(failure) };
        return Err(failure.but(&durable));
    }
    // Without rows, the types of text are those that are stated.
    let are_stated = known.is_some() || arguments.names_types() || arguments.input.has_typed_keys();
    if done == 0 && are_stated && open.keyspace.is_empty()? {
        open.keyspace.declare(&open.types)?;
    }
    open.close(&durable)?;
    let mut told = json!({});
    input_options.tell_skipped(&mut told);
    arguments.tell((done, started), repeats.as_ref(), &types, told, output)?;
    Ok(Outcome::Done)
}

impl DbImport {
    /// Tells what was imported, in the object `told` with what else is known of it.
    fn tell(
        &self,
        (rows, started): (u64, Instant),
        repeats: Option<&Repeats>,
        types: &RecordType,
        mut told: Value,
        output: &mut Output,
    ) -> Result<()> {
        if let Some(remark) = repeats.and_then(|repeats| repeats.told(&types.key_names())) {
            note(format_args!("note: {remark}"));
        }
        if !output.is_json() {
            let (seconds, shown) = (started.elapsed().as_secs_f64(), &self.name.store);
            output.line(format_args!("{shown}: {} imported in {seconds:.1} s", counted(rows, "row")))?;
            return output.line(format_args!("types: {types}"));
        }
        told["durable_rows"] = json!(rows);
        told["key_type"] = json!(types.keys.to_string());
        told["value_type"] = json!(types.value_name());
        if let Some(repeats) = repeats.filter(|repeats| repeats.rows() > 0) {
            told["replaced_rows"] = json!(repeats.rows());
        }
        output.json(&told)
    }

    /// Whether the key is the first column only because nothing says which it is.
    fn takes_first_column(&self, input: &InputOptions, known: Option<&RecordType>) -> bool {
        let is_stated = known.is_some_and(|known| !known.key_columns.is_empty());
        self.input.key.is_empty() && input.has_columns() && !is_stated
    }

    /// Whether options name types of keys or columns.
    fn names_types(&self) -> bool {
        let input = &self.input;
        let names_one = self.keys.or(input.key_type).or(input.value_type).is_some();
        names_one || !input.column_types.is_empty()
    }

    /// Whether `--type` names the type of the column that the keys of known records have.
    fn names_type_of(&self, known: &RecordType) -> bool {
        let key = match &known.key_columns[..] {
            [key] => &key.name,
            _ => return false,
        };
        self.input.column_types.iter().any(|given| given.column.0 == *key)
    }
}

/// The options of the input, with the types of the keyspace where no others are given.
fn typed(arguments: &DbImport, input: &InputOptions, known: &Option<RecordType>) -> InputOptions {
    let mut input = InputOptions { key_type: input.key_type.or(arguments.keys), ..input.clone() };
    let Some(known) = known else { return input };
    // Keys of bytes may be anything.
    let are_keys_stated = match input.format() {
        Format::Sosd => true,
        Format::Parquet => known.is_bytes(),
        _ => arguments.names_type_of(known),
    };
    if !are_keys_stated {
        input.key_type = input.key_type.or(Some(known.keys));
    }
    if let ValueType::Scalar(scalar) = known.values
        && !known.is_keys_only()
        && input.payload.is_none()
    {
        input.value_type = input.value_type.or(Some(scalar));
    }
    input.known = Some(Box::new(KnownColumns::of(known, KEYSPACE, arguments.add_columns)));
    input
}

/// An import in progress.
struct ImportRows<'a> {
    db: &'a Db,
    batch: Batch,
    done: u64,
    /// Counts rows that replace others, unless the key was chosen.
    repeats: Option<Repeats>,
    progress: Progress,
    output: &'a mut Output,
}

impl ImportRows<'_> {
    /// Imports all records of an input, batch by batch.
    fn take(&mut self, input: &mut dyn Input, keyspace: &Keyspace, batch: u64, interrupt: &Interrupt) -> Result<()> {
        while let Some(record) = input.next()? {
            self.batch.insert(keyspace, record.key, record.value);
            self.repeats.iter_mut().for_each(|repeats| repeats.see(record.key));
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
        if batch.is_empty() {
            return Ok(());
        }
        let rows = batch.len();
        batch.commit().map_err(|error| keys::refusal(self.db, error))?;
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
