//! Getting an input into a table, whatever its order and whatever its keys turn out to be.

use crate::failure::{Failure, Result};
use crate::input::{Input, InputError, InputOptions};
use crate::interrupt::Interrupt;
use crate::progress::{Progress, Unit};
use ogive::Error;
use ogive::io::Storage;
use ogive::table::sort::{SORT_BUDGET_BYTES_MIN, Sorted, Sorter, remove_leftovers};
use ogive::table::{KeyType, TableReport, TableWriter, WriteOptions};
use ogive::tune::Options;
use std::num::NonZero;
use std::sync::Arc;

/// Records between two looks at the clock and the interrupt flag.
const RECORDS_A_STEP: u64 = 1 << 13;
/// Where a table goes, and how it is made.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) name: String,
    pub(crate) options: WriteOptions,
    /// Memory for sorting, in bytes.
    pub(crate) memory_bytes: u64,
}

/// How an input is read: first the cheapest way is tried, then wider ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// What its keys are taken for.
    pub(crate) key_type: KeyType,
    /// Whether its records are sorted.
    pub(crate) sort: bool,
}

/// Builds the table of an input.
///
/// The input is taken for sorted, and read again to be sorted should it turn out not to be; the type of its keys, unless
/// somebody chose it, is guessed and widened in the same way. What can be read only once is sorted in any case.
///
/// # Errors
/// [`InputError`] for a bad input, and whatever the engine reports; then nothing new stands under the name.
pub(crate) fn load(input: &InputOptions, target: &Target, what: &str, interrupt: &Interrupt) -> Result<TableReport> {
    let sample = input.quick_sample()?;
    let options = WriteOptions { sample: sample.or(target.options.sample.clone()), ..target.options.clone() };
    let target = Target { options, ..target.clone() };
    try_plans(input, |plan| pour(&mut *input.open(plan.key_type)?, &target, plan.sort, what, interrupt))
}

/// Finds out how an input must be read, by reading it once.
///
/// # Errors
/// As [`load`].
pub(crate) fn examine(input: &InputOptions, interrupt: &Interrupt) -> Result<Plan> {
    try_plans(input, |plan| {
        let mut records = input.open(plan.key_type)?;
        let progress = Progress::start("reading", records.facts().length_bytes, Unit::Bytes);
        let mut work = Work { progress, interrupt, records: 0 };
        let mut last: Vec<u8> = Vec::new();
        while let Some(record) = records.next()? {
            if !plan.sort && record.key < last.as_slice() {
                return Err(Error::Unsorted { path: input.path.clone(), record: work.records }.into());
            }
            last.clear();
            last.extend_from_slice(record.key);
            work.step(|_| records.position_bytes())?;
        }
        if work.records == 0 { Err(InputError::Empty { path: input.path.clone() }.into()) } else { Ok(plan) }
    })
}

/// Tries one plan after the other until one does not fail for a reason that another one could cure.
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
                // What is sorted as numbers may not be as text, and the other way round.
                Some(key_type) => Plan { key_type, sort: false },
                None => return Err(failure),
            },
            _ => return Err(failure),
        };
    }
}

/// The type to try when keys are not all of `key_type`.
fn wider(key_type: KeyType) -> Option<KeyType> {
    match key_type {
        KeyType::U64 => Some(KeyType::I64),
        KeyType::I64 => Some(KeyType::Text),
        KeyType::Text => Some(KeyType::Bytes),
        _ => None,
    }
}

/// Writes all records of an input to a table.
///
/// # Errors
/// [`InputError::Empty`] when there is none, and as [`load`].
pub(crate) fn pour(
    input: &mut dyn Input,
    target: &Target,
    sort: bool,
    what: &str,
    interrupt: &Interrupt,
) -> Result<TableReport> {
    let facts = input.facts().clone();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let create = |records: Option<u64>| {
        let options = WriteOptions {
            key_type: facts.key_type,
            value_width: facts.dense_value_width(),
            expected_records: records,
            search: Options { threads, ..target.options.search.clone() },
            ..target.options.clone()
        };
        TableWriter::create(Arc::clone(&target.storage), &target.name, options)
    };
    let mut work = Work { progress: Progress::start(what, facts.length_bytes, Unit::Bytes), interrupt, records: 0 };
    // Ahead of a long sort too: a file that must not be replaced is refused at once.
    let mut writer = create(facts.records)?;
    if sort {
        drop(writer);
        let mut sorted = sort_all(input, target, &mut work)?;
        writer = create(Some(sorted.records()))?;
        work = Work { progress: Progress::start(what, Some(sorted.records()), Unit::Items), interrupt, records: 0 };
        while let Some((key, value)) = sorted.next_record()? {
            writer.append(key, value)?;
            work.step(|records| records)?;
        }
    } else {
        while let Some(record) = input.next()? {
            writer.append(record.key, record.value)?;
            work.step(|_| input.position_bytes())?;
        }
    }
    if work.records == 0 {
        return Err(InputError::Empty { path: facts.path }.into());
    }
    drop(work);
    let _finishing = Progress::start(format!("{what}: the index"), None, Unit::Items);
    Ok(writer.finish()?)
}

/// Sorts an input within the memory given, beside the table that is to be made of it.
fn sort_all(input: &mut dyn Input, target: &Target, work: &mut Work<'_>) -> Result<Sorted> {
    remove_leftovers(&*target.storage, &target.name)?;
    let budget_bytes = target.memory_bytes.max(SORT_BUDGET_BYTES_MIN);
    let mut sorter = Sorter::new(Arc::clone(&target.storage), budget_bytes, &target.name)?;
    while let Some(record) = input.next()? {
        sorter.push(record.key, record.value)?;
        work.step(|_| input.position_bytes())?;
    }
    Ok(sorter.finish()?)
}

/// Long work over records: shows how far it is, and stops when asked to.
struct Work<'a> {
    progress: Progress,
    interrupt: &'a Interrupt,
    records: u64,
}

impl Work<'_> {
    /// One record more is done; `reached` tells how far that is, from the number of records.
    fn step(&mut self, reached: impl Fn(u64) -> u64) -> Result<()> {
        self.records += 1;
        if self.records.is_multiple_of(RECORDS_A_STEP) {
            self.interrupt.check()?;
            self.progress.reach(reached(self.records));
        }
        Ok(())
    }
}
