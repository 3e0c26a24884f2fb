//! Getting an input into a table, whatever its order and whatever its keys turn out to be.

use crate::failure::{Failure, Result};
use crate::input::{Input, InputError, InputOptions};
use crate::interrupt::Interrupt;
use crate::progress::{Progress, Unit};
use ogive::Error;
use ogive::io::Storage;
use ogive::table::{KeyType, SortingWriter, TableReport, TableWriter, WriteOptions};
use std::sync::Arc;

/// Records between two looks at the clock and the interrupt flag.
const RECORDS_A_STEP: u64 = 1 << 13;
/// Records of fixed width lie densely in blocks of any size when this many fit into the smallest one.
const SMALLEST_BLOCK_BYTES: usize = 512;
const LEAST_DENSE_RECORDS: usize = 4;

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
    try_plans(input, |plan| pour(&mut *input.open(plan.key_type)?, target, plan.sort, what, interrupt))
}

/// Finds out how an input must be read, by reading it once; also tells how many records it has.
///
/// # Errors
/// As [`load`].
pub(crate) fn examine(input: &InputOptions, interrupt: &Interrupt) -> Result<(Plan, u64)> {
    try_plans(input, |plan| {
        let mut records = input.open(plan.key_type)?;
        let mut progress = Progress::start("reading", records.facts().length_bytes, Unit::Bytes);
        let mut last: Vec<u8> = Vec::new();
        let mut count = 0;
        while let Some(record) = records.next()? {
            if !plan.sort && record.key < last.as_slice() {
                return Err(Error::Unsorted { path: input.path.clone(), record: count }.into());
            }
            last.clear();
            last.extend_from_slice(record.key);
            count += 1;
            if count % RECORDS_A_STEP == 0 {
                interrupt.check()?;
                progress.reach(records.position_bytes());
            }
        }
        if count == 0 { Err(InputError::Empty { path: input.path.clone() }.into()) } else { Ok((plan, count)) }
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
    let mut writer = Writer::create(target, input, sort)?;
    let what = if sort { format!("{what}, sorting") } else { what.to_owned() };
    let mut progress = Progress::start(&what, input.facts().length_bytes, Unit::Bytes);
    let mut records = 0;
    while let Some(record) = input.next()? {
        writer.append(record.key, record.value)?;
        records += 1;
        if records % RECORDS_A_STEP == 0 {
            interrupt.check()?;
            progress.reach(input.position_bytes());
        }
    }
    if records == 0 {
        return Err(InputError::Empty { path: input.facts().path.clone() }.into());
    }
    drop(progress);
    let _finishing = Progress::start(format!("{what}: the index"), None, Unit::Items);
    writer.finish()
}

/// A writer for sorted or for unsorted records.
#[derive(Debug)]
enum Writer {
    Sorted(TableWriter),
    Sorting(SortingWriter),
}

impl Writer {
    fn create(target: &Target, input: &dyn Input, sort: bool) -> Result<Self> {
        let facts = input.facts();
        let options = WriteOptions {
            key_type: facts.key_type,
            value_width: facts.value_width.filter(|&width| lies_densely(facts.key_type, width)),
            expected_records: facts.records,
            ..target.options.clone()
        };
        let storage = Arc::clone(&target.storage);
        Ok(if sort {
            Self::Sorting(SortingWriter::create(storage, &target.name, options, target.memory_bytes)?)
        } else {
            Self::Sorted(TableWriter::create(storage, &target.name, options)?)
        })
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match self {
            Self::Sorted(writer) => writer.append(key, value)?,
            Self::Sorting(writer) => writer.append(key, value)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<TableReport> {
        Ok(match self {
            Self::Sorted(writer) => writer.finish()?,
            Self::Sorting(writer) => writer.finish()?,
        })
    }
}

/// Whether records with values of this width are narrow enough for dense blocks.
fn lies_densely(key_type: KeyType, value_width: u32) -> bool {
    let fits = |key_width: usize| (key_width + value_width as usize) * LEAST_DENSE_RECORDS <= SMALLEST_BLOCK_BYTES;
    key_type.width().is_some_and(fits)
}
