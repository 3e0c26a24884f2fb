//! Loading of inputs into tables, in any order and with any type of keys.

use crate::failure::{Failure, Result};
use crate::input::{Input, InputError, InputOptions, Schema, TypeSample};
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::progress::{PhasedProgress, Progress, Unit};
use crate::reading::lookups::Lookups;
use ogive::io::ScratchFolder;
use ogive::io::{StoppableStorage, Storage};

use ogive::table::{SortingWriter, TableReport, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType};
use std::num::NonZero;
use std::sync::Arc;

/// Records between two checks of the clock and the interrupt flag.
pub(crate) const RECORDS_A_STEP: u64 = 1 << 13;
/// Writing the index counts as this part of reading the input.
const INDEX_DIVISOR: u64 = 32;

/// The table to write, with its options.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) name: String,
    pub(crate) options: TableWriteOptions,
    /// Upper limit of memory for sorting, in bytes.
    pub(crate) memory_bytes: u64,
    /// Keys that will be looked up.
    pub(crate) lookups: Option<Arc<Lookups>>,
}

/// A way to read an input. The cheapest is tried first, then more general ones.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The columns, with the types that are assumed.
    pub(crate) schema: Schema,
    /// Whether its records are sorted.
    pub(crate) sort: bool,
}

/// What is known of an input that was read once.
#[derive(Clone, Debug)]
pub(crate) struct Examined {
    pub(crate) plan: Plan,
    pub(crate) records: u64,
    /// Length of the longest record.
    pub(crate) longest_bytes: u64,
    /// Records besides that were left out because their keys have nulls.
    pub(crate) null_keys: u64,
}

impl Examined {
    /// The type of the keys.
    pub(crate) fn key_type(&self) -> KeyType {
        self.plan.schema.record_type.keys
    }
}

/// Builds the table of an input.
///
/// The input is assumed to be sorted, and read again with a sort if it is not. Types that are not given are guessed
/// from the first records, and from all of them if a later record does not fit. An input that can be read only once is
/// always sorted.
///
/// # Errors
/// [`InputError`] for a bad input, and errors of the engine; the output is unchanged then.
pub(crate) fn load(input: &InputOptions, target: &Target, what: &str, interrupt: &Interrupt) -> Result<TableReport> {
    input.refuse_table()?;
    let (input, _scratch) = &input.rereadable(interrupt)?;
    let sample = input.quick_sample()?;
    let options = target.options.clone().tuning(|tuning| {
        let known = tuning.sample.clone();
        tuning.sample(sample.or(known))
    });
    let target = Target { options, ..target.clone() };
    try_plans(input, |plan| pour(&mut *input.open(&plan.schema)?, &target, plan.sort, what, interrupt))
}

/// Finds the plan for an input by reading it once.
///
/// # Errors
/// As [`load`].
pub(crate) fn examine(input: &InputOptions, interrupt: &Interrupt) -> Result<Examined> {
    input.refuse_table()?;
    try_plans(input, |plan| read_through(input, &plan.schema, interrupt))
}

/// Finds the plans for two text inputs whose keys have one type: the narrowest that fits those of both.
///
/// # Errors
/// As [`load`], with the number of the input.
pub(crate) fn examine_both(
    inputs: [&InputOptions; 2],
    interrupt: &Interrupt,
) -> Result<[Examined; 2], Box<(usize, Failure)>> {
    let of_side = |side: usize| move |failure| Box::new((side, failure));
    for (side, input) in inputs.iter().enumerate() {
        input.refuse_table().map_err(of_side(side))?;
    }
    let mut sample = TypeSample::Start;
    loop {
        let schema = |side: usize| inputs[side].schema(sample).map_err(of_side(side));
        let mut schemas = [schema(0)?, schema(1)?];
        Schema::unite_keys(&mut schemas, [&inputs[0].path, &inputs[1].path]);
        let read = |side: usize| read_through(inputs[side], &schemas[side], interrupt).map_err(of_side(side));
        match read(0).and_then(|left| Ok([left, read(1)?])) {
            Err(failed)
                if sample == TypeSample::Start && schemas.iter().any(|schema| is_wrong_guess(&failed.1, schema)) =>
            {
                tell_restart(&failed.1);
                sample = TypeSample::Whole;
            }
            done => {
                schemas.iter().for_each(Schema::tell);
                return done;
            }
        }
    }
}

/// Reads all records, and finds whether they are sorted.
fn read_through(input: &InputOptions, schema: &Schema, interrupt: &Interrupt) -> Result<Examined> {
    let mut records = input.open(schema)?;
    let progress = Progress::start("reading", records.facts().length_bytes, Unit::Bytes);
    let mut work = LoadProgress { progress, interrupt, records: 0 };
    let mut last: Vec<u8> = Vec::new();
    let mut sort = !input.is_rereadable();
    let mut longest_bytes = 0;
    while let Some(record) = records.next()? {
        longest_bytes = longest_bytes.max((record.key.len() + record.value.len()) as u64);
        if !sort {
            sort = record.key < last.as_slice();
            last.clear();
            last.extend_from_slice(record.key);
        }
        work.step(|| records.position_bytes())?;
    }
    let null_keys = records.null_keys();
    Ok(Examined { plan: Plan { schema: schema.clone(), sort }, records: work.records, longest_bytes, null_keys })
}

/// Whether a record shows that the types of a schema, or its columns, were guessed from too few records.
fn is_wrong_guess(failure: &Failure, schema: &Schema) -> bool {
    match failure {
        // A key that is looked up may be one of a later record, which changes the guess.
        Failure::Input(InputError::WrongKey { .. }) => schema.is_guessed(),
        Failure::Input(error @ InputError::WrongType { .. }) => schema.has_guessed(error.wrong_column()),
        Failure::Input(InputError::NewField { .. }) => true,
        _ => false,
    }
}

/// Tells that an input is read again.
fn tell_restart(failure: &Failure) {
    note(format_args!("note: {failure}, which the first rows suggested; all rows are read for their types"));
}

/// Tries plans until one succeeds or fails for a reason that no other plan avoids. Tells where numbers became text.
fn try_plans<T>(input: &InputOptions, attempt: impl Fn(&Plan) -> Result<T>) -> Result<T> {
    let is_rereadable = input.is_rereadable();
    // Rows that do not fit are left out, and do not lead to another reading: types must not hang on the first thousand.
    let reads_again = is_rereadable && input.skip_bad_rows.is_none();
    let mut sample = if reads_again { TypeSample::Start } else { TypeSample::LongStart };
    let mut plan = Plan { schema: input.schema(sample)?, sort: !is_rereadable };
    loop {
        let failure = match attempt(&plan) {
            Err(failure) => failure,
            done => {
                plan.schema.tell();
                return done;
            }
        };
        match &failure {
            _ if !is_rereadable => return Err(failure),
            Failure::Engine(Error { cause: Cause::Unsorted { .. }, .. }) if !plan.sort => plan.sort = true,
            failure if is_wrong_guess(failure, &plan.schema) && sample != TypeSample::Whole => {
                tell_restart(failure);
                sample = TypeSample::Whole;
                // Keys sorted as numbers may be unsorted as text, and vice versa.
                plan = Plan { schema: input.schema(sample)?, sort: false };
            }
            _ => return Err(failure),
        }
    }
}

/// Writes all records of an input to a table.
///
/// # Errors
/// [`InputError::Empty`] when there are none and the input does not say so itself, and as [`load`].
pub(crate) fn pour(
    input: &mut dyn Input,
    target: &Target,
    sort: bool,
    what: &str,
    interrupt: &Interrupt,
) -> Result<TableReport> {
    let facts = input.facts().clone();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let looked_up = match &target.lookups {
        Some(lookups) => lookups.keys(facts.record_type.keys)?,
        None => Vec::new(),
    };
    let search = target.options.tuning.search.clone().threads(threads);
    let options = target
        .options
        .clone()
        .record_type(facts.record_type.clone())
        .value_width(facts.dense_value_width())
        .tuning(|tuning| tuning.expected_records(facts.records).looked_up(looked_up).search(search));
    let storage = StoppableStorage::new(Arc::clone(&target.storage), interrupt.flag());
    // Temporary files of a sort cannot be objects.
    let scratch = (sort && storage.is_object_store()).then(ScratchFolder::create).transpose()?;
    let mut writer = if sort {
        let memory_bytes = target.memory_bytes.max(SortingWriter::MEMORY_BYTES_MIN);
        let beside: Arc<dyn Storage> = match &scratch {
            Some(scratch) => StoppableStorage::new(scratch.storage(), interrupt.flag()),
            None => storage.clone(),
        };
        let (target, name) = (storage.clone(), &target.name);
        Writer::Sorting(SortingWriter::create_with_scratch((target, name), options, memory_bytes, beside)?)
    } else {
        Writer::Sorted(TableWriter::create((storage.clone(), &target.name), options)?)
    };
    let mut build = BuildProgress::start(what, facts.length_bytes);
    let mut records = 0_u64;
    while let Some(record) = input.next()? {
        match &mut writer {
            Writer::Sorted(writer) => writer.append(record.key, record.value)?,
            Writer::Sorting(writer) => writer.append(record.key, record.value)?,
        }
        records += 1;
        if records.is_multiple_of(RECORDS_A_STEP) {
            interrupt.check()?;
            build.read(input.position_bytes(), writer.sorted_bytes());
        }
    }
    // An interrupt ends a whole pipeline, so the input may have ended early.
    interrupt.check()?;
    if records == 0 && !facts.may_be_empty {
        return Err(InputError::Empty { path: facts.path }.into());
    }
    build.read(input.position_bytes(), writer.sorted_bytes());
    Ok(match writer {
        Writer::Sorted(writer) => writer.finish()?,
        Writer::Sorting(writer) => writer.finish_observed(&mut |merged, total| build.merge(merged, total))?,
    })
}

/// A writer for records in order, or in any order.
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
enum Writer {
    Sorted(TableWriter),
    Sorting(SortingWriter),
}

impl Writer {
    /// Bytes of records that wait to be sorted.
    fn sorted_bytes(&self) -> u64 {
        match self {
            Self::Sorted(_) => 0,
            Self::Sorting(writer) => writer.sorted_bytes(),
        }
    }
}

/// The progress of a build: reading, merging, and writing the index, in bytes that are read or merged.
pub(crate) struct BuildProgress {
    shown: ShownBuild,
    read_bytes: u64,
}

/// What a build shows: of an input of unknown length, as from a pipe, no share is known before it ends.
enum ShownBuild {
    Whole { progress: PhasedProgress, input_bytes: u64 },
    Reading { progress: Progress, what: String },
    Merging(PhasedProgress),
}

impl BuildProgress {
    /// Starts.
    pub(crate) fn start(what: &str, input_bytes: Option<u64>) -> Self {
        let shown = match input_bytes {
            Some(input_bytes) => ShownBuild::Whole { progress: PhasedProgress::start(what), input_bytes },
            None => ShownBuild::Reading { progress: Progress::start(what, None, Unit::Bytes), what: what.to_owned() },
        };
        Self { shown, read_bytes: 0 }
    }

    /// Sets how much is read, and how much of it waits to be sorted.
    pub(crate) fn read(&mut self, read_bytes: u64, sorted_bytes: u64) {
        self.read_bytes = read_bytes;
        match &mut self.shown {
            ShownBuild::Whole { progress, input_bytes } => {
                // The rest of the input is taken to need as much as what was read.
                let sorted = u128::from(sorted_bytes) * u128::from(*input_bytes) / u128::from(read_bytes.max(1));
                progress.reach_of(read_bytes, with_index(*input_bytes, sorted as u64));
            }
            ShownBuild::Reading { progress, .. } => progress.reach(read_bytes),
            ShownBuild::Merging(_) => {}
        }
    }

    /// Sets how much is merged, and how much will be.
    pub(crate) fn merge(&mut self, merged_bytes: u64, total_bytes: u64) {
        if let ShownBuild::Reading { what, .. } = &self.shown {
            self.shown = ShownBuild::Merging(PhasedProgress::start(format!("{what}: sorting and writing")));
        }
        match &mut self.shown {
            ShownBuild::Whole { progress, .. } => {
                progress.reach_of(self.read_bytes + merged_bytes, with_index(self.read_bytes, total_bytes));
            }
            ShownBuild::Merging(progress) => progress.reach_of(merged_bytes, with_index(0, total_bytes)),
            ShownBuild::Reading { .. } => {}
        }
    }
}

/// The bytes that are read and merged, and a part of them for the index.
fn with_index(read_bytes: u64, merged_bytes: u64) -> u64 {
    let bytes = read_bytes.saturating_add(merged_bytes);
    bytes.saturating_add(read_bytes.max(merged_bytes) / INDEX_DIVISOR)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(build: &BuildProgress) -> u64 {
        match &build.shown {
            ShownBuild::Whole { progress, .. } | ShownBuild::Merging(progress) => progress.percent(),
            ShownBuild::Reading { .. } => 0,
        }
    }

    #[test]
    fn reading_merging_and_the_index_are_shares_of_one_whole() {
        let mut build = BuildProgress::start("sorting", Some(1000));
        let mut shares = Vec::new();
        for read in [0, 500, 1000] {
            // Each byte read becomes two to sort.
            build.read(read, 2 * read);
            shares.push(percent(&build));
        }
        for merged in [0, 1000, 2000, 4000] {
            // The sorter merges some bytes twice.
            build.merge(merged, 4000);
            shares.push(percent(&build));
        }
        assert!(shares.is_sorted(), "{shares:?}");
        // Half of the input is a sixth of the work, all of it a third at first.
        assert_eq!((shares[1], shares[2]), (16, 32), "{shares:?}");
        assert!((95..100).contains(&shares[6]), "{shares:?}");
    }

    #[test]
    fn an_input_of_unknown_length_has_shares_from_its_end_on() {
        let mut build = BuildProgress::start("sorting", None);
        build.read(1000, 500);
        assert!(matches!(build.shown, ShownBuild::Reading { .. }));
        build.merge(250, 500);
        assert_eq!(percent(&build), 48);
    }

    #[test]
    fn a_sorted_input_leaves_a_part_for_the_index() {
        let mut build = BuildProgress::start("building", Some(1000));
        build.read(500, 0);
        assert_eq!(percent(&build), 48);
        build.read(1000, 0);
        assert_eq!(percent(&build), 96);
    }
}
