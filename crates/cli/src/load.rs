//! Getting an input into a table, whatever its order and whatever its keys turn out to be.

use crate::failure::{Failure, Result};
use crate::input::{Input, InputError, InputOptions};
use crate::interrupt::Interrupt;
use crate::output::note;
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

/// What is tried: first the cheapest reading of an input, then wider ones.
#[derive(Clone, Copy, Debug)]
struct Plan {
    key_type: KeyType,
    sort: bool,
}

/// Builds the table of an input.
///
/// The input is taken for sorted, and read again to be sorted should it turn out not to be; the type of its keys, unless
/// somebody chose it, is guessed and widened in the same way. What can be read only once is sorted in any case.
///
/// # Errors
/// [`InputError`] for a bad input, and whatever the engine reports; then nothing new stands under the name.
pub(crate) fn load(input: &InputOptions, target: &Target, what: &str, interrupt: &Interrupt) -> Result<TableReport> {
    let mut plan = Plan { key_type: input.first_key_type()?, sort: !input.is_rereadable() };
    loop {
        let failure = match attempt(input, target, plan, what, interrupt) {
            Err(failure) => failure,
            done => return done,
        };
        plan = match &failure {
            _ if !input.is_rereadable() => return Err(failure),
            Failure::Engine(Error::Unsorted { .. }) if !plan.sort => Plan { sort: true, ..plan },
            Failure::Input(InputError::WrongKeyType { .. }) if input.key_type.is_none() => match wider(plan.key_type) {
                Some(key_type) => Plan { key_type, ..plan },
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

fn attempt(options: &InputOptions, target: &Target, plan: Plan, what: &str, interrupt: &Interrupt) -> Result<TableReport> {
    let mut input = options.open(plan.key_type)?;
    let mut writer = Writer::create(target, &*input, plan)?;
    let what = if plan.sort { format!("{what} (sorting)") } else { what.to_owned() };
    let mut progress = Progress::start(what, input.facts().length_bytes, Unit::Bytes);
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
        return Err(InputError::Empty { path: options.path.clone() }.into());
    }
    drop(progress);
    let _finishing = Progress::start("tuning and writing the index", None, Unit::Items);
    writer.finish()
}

/// A writer for sorted or for unsorted records.
#[derive(Debug)]
enum Writer {
    Sorted(TableWriter),
    Sorting(SortingWriter),
}

impl Writer {
    fn create(target: &Target, input: &dyn Input, plan: Plan) -> Result<Self> {
        let facts = input.facts();
        let options = WriteOptions {
            key_type: plan.key_type,
            value_width: facts.value_width.filter(|&width| lies_densely(plan.key_type, width)),
            expected_records: facts.records,
            ..target.options.clone()
        };
        let storage = Arc::clone(&target.storage);
        Ok(if plan.sort {
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
    key_type.width().is_some_and(|key_width| (key_width + value_width as usize) * LEAST_DENSE_RECORDS <= SMALLEST_BLOCK_BYTES)
}
