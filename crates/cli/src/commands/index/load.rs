//! `ogive index load`: loads the records of a file.

use super::any::either;
use super::file::{PayloadOptions, WritableIndexFile};
use super::text;
use crate::failure::{Failure, Result};
use crate::input::{Format, INDEX, Input, InputError, InputOptions, KnownColumns, TypeSample, blame_holder};
use crate::interrupt::Interrupt;
use crate::load::{BuildProgress, RECORDS_A_STEP};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::reading::standard_input::shown;
use crate::values::key;
use crate::values::size::{ByteSize, counted, grouped, positive_count, sort_memory, the_first};
use ogive::index::extend::FactoryWord;
use ogive::index::{AnyIndex, RawKey, WordIndex};
use ogive::types::{RecordType, ValueType};
use ogive::{Cause, Error, KeyType};
use serde_json::json;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  ogive index load ids.ogx keys.u64 --payload 8            SOSD keys, with payloads derived from them
  ogive index load ids.ogx rows.csv --key id --value name  columns by name or number
  ogive index load ids.ogx more.csv --key id --value name --batch 1000000
                                                           commit after every 1,000,000 records
  ogive index load ids.ogx keys.u64 --sorted               require a bulk load

Loads sorted input into an empty index in one bulk load; sorts any other input, and inserts its records leaf by leaf.
Either is one atomic commit: all records are loaded or none. With --batch, each batch is one. Until the commit, a
changed page of the index takes up to 1 KiB of memory beyond --memory and its size in the log.

A record replaces the whole record with the same key: missing columns become null. Records without values get payloads
of zeros.";

/// Records per commit that are inserted one by one.
const RANDOM_BATCH_RECORDS: u64 = 10_000;

/// Load a file into an index
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexLoad {
    #[command(flatten)]
    index: WritableIndexFile,

    #[command(flatten)]
    input: InputOptions,

    /// Require a bulk load: fail if the index is not empty or the input is not sorted
    #[arg(long, conflicts_with = "random")]
    sorted: bool,

    /// Insert records one by one, unsorted, even if a bulk load is possible: for measurements
    #[arg(long)]
    random: bool,

    /// Records per commit; ignored in a bulk load [default: all; 10,000 with --random]
    #[arg(long, value_name = "N", value_parser = positive_count)]
    batch: Option<u64>,

    /// Upper limit of memory for sorting, at least 64 KiB; the rest is sorted in temporary files beside the index
    #[arg(long, value_name = "N", default_value = "256MiB", value_parser = sort_memory)]
    sort_memory: ByteSize,

    #[command(flatten)]
    payloads: PayloadOptions,
}

/// Result of a load.
#[derive(Debug)]
struct LoadReport {
    records: u64,
    bulk: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexLoad, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let interrupt = Interrupt::watch();
    arguments.input.refuse_table_but("`ogive export` writes its records to a file that can be loaded, such as CSV")?;
    arguments.index.file.refuse_input(&arguments.input.path)?;
    // The names of columns are read ahead of the records.
    let (input, _scratch) = match arguments.input.has_columns() {
        true => arguments.input.rereadable(&interrupt)?,
        false => (arguments.input.clone(), None),
    };
    let arguments = &IndexLoad { input, ..arguments.clone() };
    let any = arguments.index.write(None)?.any;
    let mut committed = 0;
    let loaded = match either!(&any, index => load(index, arguments, &interrupt, &mut committed)) {
        Ok(loaded) => loaded,
        Err(failure) => {
            // Closing makes commits durable that were not synced.
            let is_durable = any.close().is_ok() || arguments.index.is_at_once();
            return Err(failure.but(what_is_there(committed, is_durable)));
        }
    };
    let entries = either!(&any, index => index.len())?;
    let (types, payload_bytes) = (any.record_type().clone(), any.layout().payload_bytes);
    any.close()
        .map_err(|error| Failure::from(error).but(what_is_there(loaded.records, arguments.index.is_at_once())))?;
    if output.is_json() {
        output.json(&json!({
            "records": loaded.records,
            "bulk": loaded.bulk,
            "entries": entries,
            "key_type": types.keys.to_string(),
            "value_type": types.value_name(),
            "payload_bytes": payload_bytes,
        }))?;
    } else {
        output.line(format_args!(
            "{}: {} {} in {:.1} s; now {}",
            arguments.index.file,
            counted(loaded.records, "record"),
            if loaded.bulk { "loaded" } else { "inserted" },
            started.elapsed().as_secs_f64(),
            counted(entries, "entry")
        ))?;
        match types.values.is_bytes() {
            true => output.line(format_args!("types: {} -> {}", types.keys, counted(payload_bytes as u64, "byte")))?,
            false => output.line(format_args!("types: {types}"))?,
        }
    }
    Ok(Outcome::Done)
}

/// The part of the input that is in the index after a failure.
fn what_is_there(records: u64, is_durable: bool) -> String {
    match (records, is_durable) {
        (0, _) => "no records were loaded".into(),
        (_, true) => format!("{} durable in the index", the_first(records, "record")),
        (_, false) => format!("{} in the index, but may not be durable", the_first(records, "record")),
    }
}

/// Loads in bulk if possible, else inserts. `committed` counts the records in the index.
fn load<W: FactoryWord>(
    index: &WordIndex<W>,
    arguments: &IndexLoad,
    interrupt: &Interrupt,
    committed: &mut u64,
) -> Result<LoadReport> {
    let may_retry = arguments.input.is_rereadable();
    if arguments.sorted || !arguments.random && may_retry && index.is_empty()? {
        match bulk_load(index, arguments, interrupt) {
            Err(Failure::Engine(Error { cause: Cause::Unsorted { .. } | Cause::Repeated { .. }, .. }))
                if !arguments.sorted =>
            {
                note("the input is not sorted; sorting it");
            }
            done => return done.map(|records| LoadReport { records, bulk: true }),
        }
    }
    if !arguments.random && !index.is_empty()? {
        note("the index is not empty; sorting the input, and inserting its records");
    }
    match arguments.random {
        true => insert_singly(index, arguments, interrupt, committed)?,
        false => insert_sorted(index, arguments, interrupt, committed)?,
    }
    Ok(LoadReport { records: *committed, bulk: false })
}

fn bulk_load<W: FactoryWord>(index: &WordIndex<W>, arguments: &IndexLoad, interrupt: &Interrupt) -> Result<u64> {
    let mut records = IndexRecords::open(index, arguments)?;
    let mut progress = Progress::start("loading", records.input.facts().length_bytes, Unit::Bytes);
    let mut failure = None;
    let loaded = {
        let entries = std::iter::from_fn(|| match records.next() {
            Ok(entry) => {
                progress.reach(records.input.position_bytes());
                entry.map(Ok)
            }
            Err(error) => {
                failure = Some(error);
                Some(Err(Error::interrupted()))
            }
        });
        let stop = || if interrupt.is_asked() { Err(Error::interrupted()) } else { Ok(()) };
        index.try_bulk_load(entries, &mut |_| stop())
    };
    match failure {
        Some(failure) => Err(failure),
        None => Ok(loaded?),
    }
}

/// Inserts the records in the order of the input.
fn insert_singly<W: FactoryWord>(
    index: &WordIndex<W>,
    arguments: &IndexLoad,
    interrupt: &Interrupt,
    committed: &mut u64,
) -> Result<()> {
    let mut records = IndexRecords::open(index, arguments)?;
    let mut progress = Progress::start("inserting", records.input.facts().length_bytes, Unit::Bytes);
    let most = arguments.batch.unwrap_or(RANDOM_BATCH_RECORDS);
    loop {
        check(index, interrupt, *committed)?;
        let mut transaction = index.write()?;
        let mut batch = 0;
        while batch < most
            && let Some((key, payload)) = records.next()?
        {
            transaction.insert(key, payload)?;
            batch += 1;
        }
        // An interrupt ends a whole pipeline, so the input may have ended early.
        check(index, interrupt, *committed)?;
        transaction.commit()?;
        *committed += batch;
        progress.reach(records.input.position_bytes());
        if batch < most {
            return Ok(());
        }
    }
}

/// Sorts the records, of the whole input or of each batch, and inserts them leaf by leaf.
fn insert_sorted<W: FactoryWord>(
    index: &WordIndex<W>,
    arguments: &IndexLoad,
    interrupt: &Interrupt,
    committed: &mut u64,
) -> Result<()> {
    let mut records = IndexRecords::open(index, arguments)?;
    let input_bytes = records.input.facts().length_bytes;
    let most = arguments.batch.unwrap_or(u64::MAX);
    let mut shown = match arguments.batch {
        None => InsertProgress::Whole(BuildProgress::start("inserting", input_bytes)),
        Some(_) => InsertProgress::Batches(Progress::start("inserting", input_bytes, Unit::Bytes)),
    };
    loop {
        check(index, interrupt, *committed)?;
        let mut loader = index.sorting_loader(arguments.sort_memory.0)?;
        while loader.len() < most
            && let Some((key, payload)) = records.next()?
        {
            loader.append(key, payload)?;
            if loader.len().is_multiple_of(RECORDS_A_STEP) {
                check(index, interrupt, *committed)?;
                shown.read(records.input.position_bytes(), loader.sorted_bytes());
            }
        }
        // An interrupt ends a whole pipeline, so the input may have ended early.
        check(index, interrupt, *committed)?;
        let batch = loader.len();
        let inserted = loader.finish_observed(&mut |done, total| {
            shown.merge(done, total);
            interrupt.engine_check()
        });
        match inserted {
            Err(Error { cause: Cause::Interrupted, .. }) => check(index, interrupt, *committed)?,
            inserted => _ = inserted?,
        }
        *committed += batch;
        if batch < most {
            return Ok(());
        }
    }
}

/// Fails after an interrupt, with a hint how to go on.
fn check<W: FactoryWord>(index: &WordIndex<W>, interrupt: &Interrupt, committed: u64) -> Result<()> {
    if committed == 0 || !interrupt.is_asked() {
        return interrupt.check();
    }
    let hint = match index.layout().duplicates {
        true => "load only the rest of the file, since this index keeps repeated records",
        false => "load the file again; records already loaded are overwritten",
    };
    Err(Failure::Interrupted { hint: hint.into() })
}

/// The progress of a load of unsorted records.
enum InsertProgress {
    /// Of reading, sorting and inserting all records at once.
    Whole(BuildProgress),
    /// Of batches, each of which is inserted before the next one is read.
    Batches(Progress),
}

impl InsertProgress {
    fn read(&mut self, read_bytes: u64, sorted_bytes: u64) {
        match self {
            Self::Whole(progress) => progress.read(read_bytes, sorted_bytes),
            Self::Batches(progress) => progress.reach(read_bytes),
        }
    }

    fn merge(&mut self, merged_bytes: u64, total_bytes: u64) {
        if let Self::Whole(progress) = self {
            progress.merge(merged_bytes, total_bytes);
        }
    }
}

/// The records of an input as entries of an index.
struct IndexRecords<'a, W: FactoryWord> {
    input: Box<dyn Input>,
    index: &'a WordIndex<W>,
    arguments: &'a IndexLoad,
    /// The type of the values, unless they are given as payloads.
    values: Option<&'a ValueType>,
    records: u64,
}

impl<'a, W: FactoryWord> IndexRecords<'a, W> {
    fn open(index: &'a WordIndex<W>, arguments: &'a IndexLoad) -> Result<Self> {
        let types = index.record_type();
        let is_payload = arguments.payloads.values.is_some() || arguments.input.payload.is_some();
        let values = (!types.values.is_bytes() && !is_payload).then_some(&types.values);
        let options = input_options(&arguments.input, types, values);
        if arguments.input.value_type.is_some_and(|asked| types.values != asked.into()) {
            let message = format!("the values of the index are {}, as when it was created", types.values);
            return Err(Failure::usage(message, "remove --value-type"));
        }
        let input = options.open(&options.schema(TypeSample::Whole)?)?;
        let found = &input.facts().record_type.values;
        if matches!(values, Some(ValueType::Row(_))) && *found != types.values {
            return Err(Failure::usage(
                format!("the values of the index are {}, those of the input {found}", types.values),
                "state the same columns and types with --value and --type",
            ));
        }
        Ok(Self { input, index, arguments, values, records: 0 })
    }

    fn next(&mut self) -> Result<Option<(RawKey<W>, Vec<u8>)>> {
        let (key_type, record_type) = (self.index.key_type(), self.input.facts().record_type.keys);
        let (types, is_typed) = (self.index.record_type(), self.arguments.input.key_type.is_some());
        let blamed = |error: InputError| match error.wrong_column() {
            Some((true, _)) if is_typed => error.into(),
            _ => blame_holder(error.into(), INDEX, types),
        };
        let Some(record) = self.input.next().map_err(blamed)? else { return Ok(None) };
        self.records += 1;
        let place = || format!("record {} of {}", grouped(self.records), shown(&self.arguments.input.path));
        let word = text::key_from_record(key_type, record_type, record.key).ok_or_else(|| {
            Failure::refused(
                format!("the key of {} is not of type {key_type}", place()),
                format!("the keys of this index are {}", key::describe(key_type)),
            )
        })?;
        let encoded = |value: &[u8]| {
            let longer = "create the index with a greater --value-bytes";
            self.index
                .encode_value(value)
                .map_err(|error| Failure::refused(format!("{}: {}", place(), error.message()), longer))
        };
        let payload = match (self.values, record.value) {
            (Some(_), value) => encoded(value)?,
            (None, value) => {
                let payload = untyped_payload(self.arguments, self.index.layout().payload_bytes, value, &place)?;
                let typed = "leave out --values and --payload, and load values of that type";
                let checked = self.index.decode_value(&payload).map(drop);
                checked.map_err(|error| Failure::refused(format!("{}: {}", place(), error.message()), typed))?;
                payload
            }
        };
        Ok(Some((AnyIndex::raw(word), payload)))
    }
}

/// The payload of a value without a type.
fn untyped_payload(
    arguments: &IndexLoad,
    payload_bytes: usize,
    value: &[u8],
    place: &dyn Fn() -> String,
) -> Result<Vec<u8>> {
    match (value, arguments.input.payload) {
        ([], _) => Ok(vec![0; payload_bytes]),
        (value, Some(_)) if value.len() == payload_bytes => Ok(value.to_vec()),
        (value, Some(_)) => Err(Failure::usage(
            format!("payloads of this index have {payload_bytes} bytes, not {}", value.len()),
            format!("use --payload {payload_bytes}"),
        )),
        (value, None) => {
            let form = arguments.payloads.values.unwrap_or_default();
            form.parse(value, payload_bytes).map_err(|detail| {
                Failure::refused(
                    format!("the value of {} does not fit: {detail}", place()),
                    "set the form of the values with --values: text, number or hex",
                )
            })
        }
    }
}

/// The options of the input, with the types of the index as default. `values` has the type of values that are not
/// payloads: the columns of rows are found by their names.
fn input_options(input: &InputOptions, types: &RecordType, values: Option<&ValueType>) -> InputOptions {
    // Integers of SOSD files are converted one by one; columns of other formats are read as keys of the index.
    let key_type = input.key_type.or((input.format() != Format::Sosd).then_some(types.keys));
    let (known, value_type) = match values {
        Some(ValueType::Row(_)) => (Some(Box::new(KnownColumns::of(types, INDEX, false))), None),
        Some(ValueType::Scalar(scalar)) => (None, Some(*scalar)),
        None => (None, Some(KeyType::Bytes)),
    };
    InputOptions { key_type, known, value_type, pads_bytes: true, ..input.clone() }
}
