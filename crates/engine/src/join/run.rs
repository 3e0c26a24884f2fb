//! The entry points `join` and `explain`: one join, from its relations to its durable output.

use super::emit::RowForm;
use super::nowhere::Nowhere;
use super::options::{JoinOptions, Phase};
use super::output::Output;
use super::plan::{Explanation, plan};
use super::report::JoinReport;
use super::source::{Facts, Source};
use super::spill::Spill;
use super::task::{Spent, Task};
use super::work::Work;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::table::KeyType;
use std::sync::Arc;

/// The output's part of the memory, up to [`OUTPUT_BYTES`].
const OUTPUT_PART: u64 = 4;
/// An output that buffers more is not faster: its writer is busy with this much for longer than a join waits for reads.
const OUTPUT_BYTES: u64 = 32 << 20;

/// Joins two relations by the method that the options name, or that is expected to be the fastest.
///
/// ```
/// use ogive::io::MemoryStorage;
/// use ogive::join::{JoinKind, JoinOptions, Output, Source, join};
/// use ogive::table::{KeyType, OpenOptions, Table, TableWriter, WriteOptions};
/// use std::sync::Arc;
///
/// let storage = Arc::new(MemoryStorage::new());
/// let table = |name: &str, rows: &[(&str, &str)]| -> ogive::Result<Table> {
///     let options = WriteOptions { key_type: KeyType::Text, ..WriteOptions::default() };
///     let mut writer = TableWriter::create(storage.clone(), name, options)?;
///     rows.iter().try_for_each(|(key, value)| writer.append(key.as_bytes(), value.as_bytes()))?;
///     writer.finish()?;
///     Table::open(storage.clone(), name, &OpenOptions::default())
/// };
/// let colours = table("colours", &[("apple", "red"), ("banana", "yellow"), ("banana", "green")])?;
/// let prices = table("prices", &[("banana", "3"), ("cherry", "7")])?;
///
/// let options = JoinOptions { kind: JoinKind::Left, ..JoinOptions::default() };
/// let output = Output::caller(|key, colour, price| {
///     println!("{} {} {:?}", key.escape_ascii(), colour.escape_ascii(), price);
///     Ok(())
/// });
/// let report = join(&Source::table(&colours), &Source::table(&prices), output, &options)?;
/// assert_eq!(report.rows, 3);
/// # Ok::<(), ogive::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for keys of types that cannot be compared, a method that cannot run here, or too little memory;
/// [`Error::Interrupted`]; whatever relations and output report. Then nothing is left behind, under the output's name or any other.
pub fn join(left: &Source, right: &Source, output: Output, options: &JoinOptions) -> Result<JoinReport> {
    let (left, right) = (&left.relation, &right.relation);
    check_keys(left.facts(), right.facts())?;
    let options = &JoinOptions { any_order: options.any_order && !output.needs_order(), ..options.clone() };
    let task = Task::new(options)?;
    task.report(Phase::Planning, 0, 1);
    let plan = task.spend(Spent::Planning, || plan(&**left, &**right, options))?;
    let (storage, prefix) = spill_place(&output, options);
    let spill = Spill::open(&task, storage, &prefix)?;
    let form = RowForm::new(options.kind, left.facts(), right.facts());
    let output_bytes = (task.budget.limit_bytes() / OUTPUT_PART).min(OUTPUT_BYTES);
    let mut sink = output.begin(form, &task, output_bytes)?;
    Work::prepare([left, right], &plan, options, &task, &spill)?.run(&mut *sink)?;
    task.report(Phase::Finishing, 0, 1);
    let rows = sink.rows();
    task.spend(Spent::Writing, || sink.finish())?;
    let mut report = JoinReport::new(plan.method);
    report.rows = rows;
    report.predicted_us = plan.explanation.predicted.total_us;
    task.complete(&mut report);
    let mut explanation = plan.explanation;
    explanation.complete(&report);
    report.explanation = Some(explanation);
    Ok(report)
}

/// Tells how [`join`] would be done, and what it and its alternatives are expected to take; nothing is read but what planning needs.
///
/// # Errors
/// As [`join`].
pub fn explain(left: &Source, right: &Source, options: &JoinOptions) -> Result<Explanation> {
    let (left, right) = (&*left.relation, &*right.relation);
    check_keys(left.facts(), right.facts())?;
    Task::new(options)?;
    Ok(plan(left, right, options)?.explanation)
}

/// Refuses keys that are not the same bytes where they are the same key. Keys that are bytes may be anything.
fn check_keys(left: &Facts, right: &Facts) -> Result<()> {
    let is_open = |facts: &Facts| matches!(facts.key_type, KeyType::Bytes | KeyType::Text);
    if left.key_type == right.key_type || is_open(left) || is_open(right) {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "keys of type {} in {} cannot be joined with keys of type {} in {}; build one of them anew with the other's type",
        left.key_type, left.name, right.key_type, right.name
    )))
}

fn spill_place(output: &Output, options: &JoinOptions) -> (Arc<dyn Storage>, String) {
    if let Some((storage, prefix)) = &options.spill {
        return (storage.clone(), prefix.clone());
    }
    match output.storage() {
        Some((storage, name)) => (storage.clone(), name.to_owned()),
        None => (Arc::new(Nowhere::default()), String::new()),
    }
}
