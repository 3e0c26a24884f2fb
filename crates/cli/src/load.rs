//! Loading of inputs into tables, in any order and with any type of keys.

use crate::failure::{Failure, Result};
use crate::input::{Input, InputError, InputOptions};
use crate::interrupt::Interrupt;
use crate::monitored::MonitoredStorage;
use crate::progress::{Progress, Unit};
use ogive::io::Storage;
use ogive::table::sort::SORT_BUDGET_BYTES_MIN;
use ogive::table::{SortingWriter, TableReport, TableWriteOptions, TableWriter};
use ogive::types::{Component, TupleType};
use ogive::{Error, KeyType};
use std::num::NonZero;
use std::sync::Arc;

/// Records between two checks of the clock and the interrupt flag.
const RECORDS_A_STEP: u64 = 1 << 13;
/// The table to write, with its options.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) name: String,
    pub(crate) options: TableWriteOptions,
    /// Memory for sorting, in bytes.
    pub(crate) memory_bytes: u64,
}

/// A way to read an input. The cheapest is tried first, then more general ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Assumed type of the keys.
    pub(crate) key_type: KeyType,
    /// Whether its records are sorted.
    pub(crate) sort: bool,
}

/// Builds the table of an input.
///
/// The input is assumed to be sorted, and read again with a sort if it is not. Unless it is given, the key type is
/// guessed and widened in the same way. An input that can be read only once is always sorted.
///
/// # Errors
/// [`InputError`] for a bad input, and errors of the engine; the output is unchanged then.
pub(crate) fn load(input: &InputOptions, target: &Target, what: &str, interrupt: &Interrupt) -> Result<TableReport> {
    input.refuse_table()?;
    let sample = input.quick_sample()?;
    let options = target.options.clone().sample(sample.or(target.options.sample.clone()));
    let target = Target { options, ..target.clone() };
    try_plans(input, |plan| pour(&mut *input.open(plan.key_type)?, &target, plan.sort, what, interrupt))
}

/// Finds the plan for an input by reading it once.
///
/// # Errors
/// As [`load`].
pub(crate) fn examine(input: &InputOptions, interrupt: &Interrupt) -> Result<Plan> {
    input.refuse_table()?;
    try_plans(input, |plan| {
        let mut records = input.open(plan.key_type)?;
        let progress = Progress::start("reading", records.facts().length_bytes, Unit::Bytes);
        let mut work = LoadProgress { progress, interrupt, records: 0 };
        let mut last: Vec<u8> = Vec::new();
        while let Some(record) = records.next()? {
            if !plan.sort && record.key < last.as_slice() {
                return Err(Error::Unsorted { path: input.path.clone(), record: work.records }.into());
            }
            last.clear();
            last.extend_from_slice(record.key);
            work.step(|| records.position_bytes())?;
        }
        if work.records == 0 { Err(InputError::Empty { path: input.path.clone() }.into()) } else { Ok(plan) }
    })
}

/// Tries plans until one succeeds or fails for a reason that no other plan avoids.
fn try_plans<T>(input: &InputOptions, attempt: impl Fn(Plan) -> Result<T>) -> Result<T> {
    let mut plan = Plan { key_type: input.first_key_type()?, sort: !input.is_rereadable() };
    loop {
        let failure = match attempt(plan) {
            Err(failure) => failure,
            done => return done,
        };
        plan = match &failure {
            _ if !input.is_rereadable() => return Err(failure),
            Failure::Engine(Error::Unsorted { .. }) if !plan.sort => Plan { sort: true, ..plan },
            Failure::Input(InputError::WrongKeyType { .. }) if input.key_type.is_none() => match wider(plan.key_type) {
                // Keys sorted as numbers may be unsorted as text, and vice versa.
                Some(key_type) => Plan { key_type, sort: false },
                None => return Err(failure),
            },
            _ => return Err(failure),
        };
    }
}

/// The next type to try when not all keys are of `key_type`.
fn wider(key_type: KeyType) -> Option<KeyType> {
    match key_type {
        KeyType::U64 => Some(KeyType::I64),
        KeyType::I64 => Some(KeyType::Text),
        KeyType::Text => Some(KeyType::Bytes),
        KeyType::Tuple(tuple) => {
            let mut components: Vec<Component> = tuple.components().collect();
            // The keys do not say which component is too narrow.
            let mut is_wider = false;
            for component in &mut components {
                if let Some(key_type) = wider(component.key_type) {
                    (component.key_type, is_wider) = (key_type, true);
                }
            }
            TupleType::new(&components).ok().map(KeyType::Tuple).filter(|_| is_wider)
        }
        _ => None,
    }
}

/// Writes all records of an input to a table.
///
/// # Errors
/// [`InputError::Empty`] when there are none, and as [`load`].
pub(crate) fn pour(
    input: &mut dyn Input,
    target: &Target,
    sort: bool,
    what: &str,
    interrupt: &Interrupt,
) -> Result<TableReport> {
    let facts = input.facts().clone();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let options = target
        .options
        .clone()
        .key_type(facts.key_type)
        .value_width(facts.dense_value_width())
        .expected_records(facts.records)
        .search(target.options.search.clone().threads(threads));
    let storage = MonitoredStorage::new(Arc::clone(&target.storage), interrupt);
    let mut writer = if sort {
        let budget_bytes = target.memory_bytes.max(SORT_BUDGET_BYTES_MIN);
        Writer::Sorting(SortingWriter::create(storage.clone(), &target.name, options, budget_bytes)?)
    } else {
        Writer::Sorted(TableWriter::create(storage.clone(), &target.name, options)?)
    };
    let mut work =
        LoadProgress { progress: Progress::start(what, facts.length_bytes, Unit::Bytes), interrupt, records: 0 };
    while let Some(record) = input.next()? {
        match &mut writer {
            Writer::Sorted(writer) => writer.append(record.key, record.value)?,
            Writer::Sorting(writer) => writer.append(record.key, record.value)?,
        }
        work.step(|| input.position_bytes())?;
    }
    // An interrupt ends a whole pipeline, so the input may have ended early.
    interrupt.check()?;
    if work.records == 0 {
        return Err(InputError::Empty { path: facts.path }.into());
    }
    drop(work);
    let rest = if sort { "sorting and writing" } else { "writing the index" };
    storage.show(Progress::start(format!("{what}: {rest}"), None, Unit::Bytes));
    Ok(match writer {
        Writer::Sorted(writer) => writer.finish()?,
        Writer::Sorting(writer) => writer.finish()?,
    })
}

/// A writer for records in order, or in any order.
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
enum Writer {
    Sorted(TableWriter),
    Sorting(SortingWriter),
}

/// Long work over records, with progress and interrupts.
struct LoadProgress<'a> {
    progress: Progress,
    interrupt: &'a Interrupt,
    records: u64,
}

impl LoadProgress<'_> {
    /// Counts a record; `reached` gives the position after it.
    fn step(&mut self, reached: impl Fn() -> u64) -> Result<()> {
        self.records += 1;
        if self.records.is_multiple_of(RECORDS_A_STEP) {
            self.interrupt.check()?;
            self.progress.reach(reached());
        }
        Ok(())
    }
}
