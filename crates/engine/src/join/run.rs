//! The entry points `join` and `explain`: one join, from its relations to its durable output.

use super::execute::Execution;
use super::input::source::JoinSource;
use super::keys::ComparedSides;
use super::output::JoinOutput;
use super::plan::{Plan, plan};
use super::rows::form::RowForm;
use super::rows::joined_records::JoinedRecords;
use super::rows::method::JoinMethod;
use super::rows::no_spill::NoSpillStorage;
use super::rows::options::{JoinKind, JoinOptions, JoinPhase};
use super::rows::plan::explanation::JoinExplanation;
use super::rows::relation::{Relation, RelationFacts};
use super::rows::report::JoinReport;
use super::rows::spill::Spill;
use super::rows::task::{Task, TimedPhase};
use super::unmatched::UnmatchedRows;
use crate::error::{Cause, Error, Result, VALUE_BYTES_MAX};
use crate::io::Storage;
use crate::types::{KeyType, NullTest};
use std::sync::Arc;

/// The output gets this fraction of the memory, 1/4, up to [`OUTPUT_BYTES_MAX`].
const OUTPUT_DIVISOR: u64 = 4;
/// Larger output buffers do not help: writing this much takes longer than any wait for reads.
const OUTPUT_BYTES_MAX: u64 = 32 << 20;

/// Joins two relations by the method given in the options, or by the one with the lowest predicted cost.
///
/// Rows match if their keys are equal. As in SQL, a null in a component of a key equals nothing, so that such a key
/// matches no key. Keys of different types of numbers are equal as numbers, exactly; so are times of different units.
/// The keys of the output are of the left type, those of a full join of one that holds the keys of both sides.
///
/// ```
/// use ogive::io::MemoryStorage;
/// use ogive::join::{JoinKind, JoinOptions, JoinOutput, JoinSource, join};
/// use ogive::KeyType;
/// use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
/// use std::sync::Arc;
///
/// let storage = Arc::new(MemoryStorage::new());
/// let table = |name: &str, rows: &[(&str, &str)]| -> ogive::Result<Table> {
///     let options = TableWriteOptions::default().key_type(KeyType::Text);
///     let mut writer = TableWriter::create((storage.clone(), name), options)?;
///     rows.iter().try_for_each(|(key, value)| writer.append(key.as_bytes(), value.as_bytes()))?;
///     writer.finish()?;
///     Table::open((storage.clone(), name), &TableOptions::default())
/// };
/// let colours = table("colours", &[("apple", "red"), ("banana", "yellow"), ("banana", "green")])?;
/// let prices = table("prices", &[("banana", "3"), ("cherry", "7")])?;
///
/// let options = JoinOptions::default().kind(JoinKind::Left);
/// let output = JoinOutput::caller(|key, colour, price| {
///     println!("{} {colour:?} {price:?}", key.escape_ascii());
///     Ok(())
/// });
/// let report = join(&JoinSource::table(&colours), &JoinSource::table(&prices), output, &options)?;
/// assert_eq!(report.rows, 3);
/// # Ok::<(), ogive::Error>(())
/// ```
///
/// # Errors
/// [`Cause::Input`] for incompatible key types, or a method that cannot join these relations;
/// [`Cause::UnregisteredMethod`]; [`Cause::JoinMemory`] if the memory limit is too low; [`Cause::Interrupted`];
/// errors of the relations and the output. A failed join leaves no files behind.
pub fn join(
    left: &JoinSource,
    right: &JoinSource,
    mut output: JoinOutput<'_>,
    options: &JoinOptions,
) -> Result<JoinReport> {
    let records = JoinedRecords::of(left, right, options.kind)?;
    let row_bytes = row_bytes([left, right]);
    let ComparedSides { sides: [left, right], unmatched, .. } = ComparedSides::of(left, right, options.kind)?;
    let null_test = null_test([&left, &right]);
    let inputs = [left.hints(), right.hints()];
    let (left, right) = (&left.relation, &right.relation);
    let any_order = options.any_order && !output.needs_order();
    let options = &JoinOptions { any_order, null_test, row_bytes, inputs, ..options.clone() };
    let task = Task::new(options)?;
    task.report(JoinPhase::Planning, 0, 1);
    let plan = task.timed(TimedPhase::Planning, || plan(&**left, &**right, options))?;
    let (storage, prefix) = spill_location(&output, options);
    let spill = Spill::open(&task, storage, &prefix)?;
    let kept = KeptRows { records, unmatched };
    let (plan, rows) = execute([left, right], plan, &mut output, &kept, options, &spill)?;
    let mut report = JoinReport::new(plan.method);
    report.rows = rows;
    report.predicted_us = plan.explanation.predicted.elapsed_us();
    report.measured(&task.counts());
    let mut explanation = plan.explanation;
    explanation.complete(&report);
    report.explanation = Some(explanation);
    Ok(report)
}

/// The methods that `auto` tries in turn if the chosen one does not fit memory: first those that need neither an index
/// nor blocks that are looked up in.
const FALLBACKS: [JoinMethod; 4] = [JoinMethod::Merge, JoinMethod::Hash, JoinMethod::Partition, JoinMethod::Inlj];

/// The records of the output, and the rows that it has of those that do not enter the join.
struct KeptRows {
    records: JoinedRecords,
    unmatched: Option<UnmatchedRows>,
}

impl KeptRows {
    /// The layout of the rows of a join of these relations.
    fn form(&self, kind: JoinKind, [left, right]: [&RelationFacts; 2]) -> RowForm {
        let form = RowForm::new(kind, left, right);
        match &self.unmatched {
            Some(rows) => RowForm { key_type: rows.key_type(), key: rows.key_type().width(), ..form },
            None => form,
        }
    }
}

/// Runs a plan, and completes the output; returns the plan that was run, and the number of rows.
///
/// Methods hold keys, values and blocks whose sizes are unknown when `auto` chooses one: if they do not fit memory, the
/// others are tried, unless a caller has got rows. If none fits, the error is that of the one which needs the least.
fn execute(
    relations: [&Arc<dyn Relation>; 2],
    mut plan: Plan,
    output: &mut JoinOutput<'_>,
    kept: &KeptRows,
    options: &JoinOptions,
    spill: &Arc<Spill>,
) -> Result<(Plan, u64)> {
    let ([left, right], task) = (relations, spill.task());
    let form = kept.form(options.kind, [left.facts(), right.facts()]);
    let output_bytes = (task.budget.limit_bytes() / OUTPUT_DIVISOR).min(OUTPUT_BYTES_MAX);
    let first = plan.method;
    let mut fallbacks = FALLBACKS.into_iter().filter(|method| *method != first);
    let mut failure = None;
    loop {
        let mut sink = output.begin(form, kept.records.clone(), task, output_bytes)?;
        let prepared = Execution::prepare(relations, &plan, options, task, spill);
        let run = prepared.and_then(|join| match &kept.unmatched {
            Some(rows) => rows.run(&mut *sink, spill, options.any_order, |sink| join.run(sink)),
            None => join.run(&mut *sink),
        });
        let rows = sink.rows();
        let Err(error) = run else {
            task.report(JoinPhase::Finishing, 0, 1);
            task.timed(TimedPhase::Writing, || sink.finish())?;
            return Ok((plan, rows));
        };
        drop(sink);
        let least = match (failure, needed_bytes(&error, options.memory_bytes)) {
            (Some((least, before)), Some(needed)) if needed >= least => (least, before),
            (_, Some(needed)) => (needed, error),
            // It would spill, and there is nowhere to spill to.
            (Some(before), None) if matches!(error, Error { cause: Cause::Input, .. }) => before,
            _ => return Err(error),
        };
        // Not every method has this kind of join.
        let planned = |method| self::plan(&**left, &**right, &JoinOptions { method, ..options.clone() }).ok();
        let may_go_on = options.method == JoinMethod::Auto && (rows == 0 || output.can_begin_again());
        let next = if may_go_on { fallbacks.by_ref().find_map(planned) } else { None };
        plan = match next {
            Some(next) => next,
            None => return Err(least.1),
        };
        plan.explanation.is_asked_for = false;
        failure = Some(least);
    }
}

/// The memory limit with which a method would not have failed; `None` if it failed for another reason.
fn needed_bytes(error: &Error, memory_bytes: u64) -> Option<u64> {
    match error {
        Error { cause: Cause::JoinMemory { needed_bytes, .. }, .. } => Some(*needed_bytes),
        // A value has a share of the memory.
        Error { cause: Cause::ValueTooLarge { length, limit }, .. } if *limit < VALUE_BYTES_MAX => {
            let needed = u128::from(memory_bytes) * u128::from(*length) / u128::from((*limit).max(1));
            Some(u64::try_from(needed).unwrap_or(u64::MAX))
        }
        _ => None,
    }
}

/// Plans a join without running it: returns the method that [`join`] would use, and the predicted cost of each
/// alternative. Reads only what planning needs.
///
/// # Errors
/// As [`join`].
pub fn explain(left: &JoinSource, right: &JoinSource, options: &JoinOptions) -> Result<JoinExplanation> {
    let ComparedSides { sides: [left, right], .. } = ComparedSides::of(left, right, options.kind)?;
    let inputs = [left.hints(), right.hints()];
    let options = &JoinOptions { null_test: null_test([&left, &right]), inputs, ..options.clone() };
    let (left, right) = (&*left.relation, &*right.relation);
    Task::new(options)?;
    Ok(plan(left, right, options)?.explanation)
}

/// The test for nulls in keys. Keys of a relation whose type is open are equal only to keys of the other one's type.
fn null_test(sources: [&JoinSource; 2]) -> Option<NullTest> {
    let types = sources.into_iter().flat_map(|source| [source.relation.facts().key_type, source.record_type().keys]);
    types.filter_map(KeyType::null_test).next()
}

/// The length of a row with the longest record of each side, if both are known.
fn row_bytes([left, right]: [&JoinSource; 2]) -> Option<u64> {
    Some(left.longest_record_bytes()?.saturating_add(right.longest_record_bytes()?))
}

fn spill_location(output: &JoinOutput<'_>, options: &JoinOptions) -> (Arc<dyn Storage>, String) {
    if let Some((storage, prefix)) = &options.spill {
        return (storage.clone(), prefix.clone());
    }
    match output.storage() {
        Some((storage, name)) => (storage.clone(), name.to_owned()),
        None => (Arc::new(NoSpillStorage::default()), String::new()),
    }
}
