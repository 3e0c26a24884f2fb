//! Joins: plans, streams of rows, tables of rows.

use crate::arrow::output::{RowBatch, RowReader};
use crate::arrow::rows::Batches;
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::join_input::{JoinInput, sources};
use crate::object::Object;
use crate::wait::{Task, interruptible, signal, without_lock};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use ogive::io::{Profile, ScratchFolder, StoppableStorage, Storage, locate};
use ogive::join::{self, JoinKind, JoinOptions, JoinOutput, JoinRows, JoinSource, JoinedRecords, join_rows};
use ogive::types::ColumnPlace;
use ogive::{Error, TableWriter};
use ogive_arrow::RecordBatchBuilder;
use ogive_report::notebook::JoinPlan;
use pyo3::prelude::*;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long signals wait.
const SIGNAL_WAIT: Duration = Duration::from_millis(50);

/// How to join.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    how: String,
    method: String,
    memory: u64,
    threads: usize,
    any_order: bool,
    profile: Option<String>,
}

/// A join that is ready to run.
#[derive(Clone)]
struct Prepared {
    /// As they were given.
    left: JoinSource,
    right: JoinSource,
    /// Whether the engine gets them in the other order: it has no right join.
    is_exchanged: bool,
    options: JoinOptions,
    /// The rows, with the fields in the order of the inputs as they were given.
    records: JoinedRecords,
}

/// A join. See `ogive.join`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct Join {
    prepared: Native<Prepared>,
}

impl Prepared {
    fn new([left, right]: [JoinSource; 2], settings: &Settings) -> PyResult<Self> {
        let (left_keys, right_keys) = (left.key_type(), right.key_type());
        if !left_keys.is_comparable(right_keys) {
            let message = format!(
                "the keys of the left input are of type {left_keys}, those of the right one of type {right_keys}; \
                 convert one of them, or join by columns that are both of one type, or of numbers"
            );
            return Err(errors::new("WrongType", &message));
        }
        let is_exchanged = settings.how == "right";
        let kind = if is_exchanged { JoinKind::Left } else { settings.how.parse().or_raise()? };
        let profile = settings.profile.as_deref().map(Profile::by_name_or_file).transpose().or_raise()?;
        let options = JoinOptions::default()
            .kind(kind)
            .method(settings.method.parse().or_raise()?)
            .memory_bytes(settings.memory)
            .threads(settings.threads.max(1))
            .any_order(settings.any_order)
            .profile(profile.unwrap_or_default());
        let records = match is_exchanged {
            true => JoinedRecords::of_right_join(&left, &right),
            false => JoinedRecords::of(&left, &right, kind),
        };
        let records = records.or_raise()?;
        Ok(Self { left, right, is_exchanged, options, records })
    }

    /// In the order in which the engine joins them.
    fn sides(&self) -> (&JoinSource, &JoinSource) {
        if self.is_exchanged { (&self.right, &self.left) } else { (&self.left, &self.right) }
    }

    fn options(&self, task: &Task) -> JoinOptions {
        let watched = task.clone();
        let watcher = move |progress: join::JoinProgress| watched.report(progress.done, progress.total);
        self.options.clone().stop(Some(task.stop.clone())).watcher(watcher)
    }

    fn builder(&self) -> RecordBatchBuilder {
        let types = self.records.record_type();
        // Fields are of rows; a join without any has keys alone.
        let has_values = !types.values.is_bytes();
        RecordBatchBuilder::with_columns(types, false, |column| {
            has_values || matches!(column.place, ColumnPlace::Key(_))
        })
    }

    fn schema(&self) -> SchemaRef {
        self.builder().schema().clone()
    }

    /// The records of the join, with the folder of its spill files.
    fn run(&self, task: &Task) -> ogive::Result<JoinedRows> {
        let scratch = ScratchFolder::create()?;
        let spill: Arc<dyn Storage> = scratch.storage();
        let options = self.options(task).spill(Some((spill, "join".to_owned())));
        let (left, right) = self.sides();
        let rows = join_rows(left, right, &options)?;
        let (records, is_exchanged) = (self.records.clone(), self.is_exchanged);
        Ok(JoinedRows { rows, records, is_exchanged, _scratch: scratch })
    }

    /// Writes a table.
    fn write(&self, path: &PathBuf, replace: bool, task: &Task) -> ogive::Result<u64> {
        let place = locate(path)?;
        let is_object = place.storage.is_object_store();
        let storage: Arc<dyn Storage> = StoppableStorage::new(place.storage, task.stop.clone());
        let options = JoinOutput::options().replace(replace);
        if !self.is_exchanged {
            let scratch = if is_object { Some(ScratchFolder::create()?) } else { None };
            // A join into a local file spills beside it.
            let spill = scratch.as_ref().map(|scratch| (scratch.storage() as Arc<dyn Storage>, "join".to_owned()));
            let (left, right) = self.sides();
            let output = JoinOutput::table(storage, &place.name, options);
            return Ok(join::join(left, right, output, &self.options(task).spill(spill))?.rows);
        }
        let types = self.records.record_type().clone();
        let mut writer = TableWriter::create((storage, &place.name), options.record_type(types))?;
        let ordered = Self { options: self.options.clone().any_order(false), ..self.clone() };
        for row in ordered.run(task)? {
            let (key, value) = row?;
            writer.append(&key, &value)?;
        }
        Ok(writer.finish()?.records)
    }
}

/// The rows of a join as records.
struct JoinedRows {
    // Before the folder, whose files it has open.
    rows: JoinRows,
    records: JoinedRecords,
    is_exchanged: bool,
    _scratch: ScratchFolder,
}

impl Iterator for JoinedRows {
    type Item = ogive::Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = match self.rows.next()? {
            Ok(row) => row,
            Err(error) => return Some(Err(error)),
        };
        let (left, right) = if self.is_exchanged { (row.right, row.left) } else { (row.left, row.right) };
        let mut value = Vec::new();
        let appended = self.records.append(&row.key, left.as_deref(), right.as_deref(), &mut value);
        Some(appended.map(|()| (row.key, value)))
    }
}

type BatchResult = Result<RecordBatch, ArrowError>;

/// Batches of a join, which runs on a thread of its own, so that signals are seen meanwhile.
struct JoinReader {
    schema: SchemaRef,
    batches: Option<Receiver<BatchResult>>,
    task: Task,
    thread: Option<JoinHandle<()>>,
}

impl JoinReader {
    fn start(prepared: &Prepared) -> Self {
        let task = Task::default();
        let (sender, receiver) = sync_channel(1);
        let (of_thread, prepared_there) = (task.clone(), prepared.clone());
        let thread = std::thread::spawn(move || match prepared_there.run(&of_thread) {
            Ok(rows) => {
                let mut batches = Batches::new(prepared_there.builder(), rows);
                // The receiver is gone once no more rows are wanted.
                while batches.next().is_some_and(|batch| sender.send(batch).is_ok()) {}
            }
            Err(error) => drop(sender.send(Err(ArrowError::ExternalError(Box::new(error))))),
        });
        Self { schema: prepared.schema(), batches: Some(receiver), task, thread: Some(thread) }
    }
}

impl Iterator for JoinReader {
    type Item = BatchResult;

    fn next(&mut self) -> Option<Self::Item> {
        let mut receiver = self.batches.take()?;
        loop {
            // Those who call may hold the interpreter's lock or not.
            let received;
            (receiver, received) = Python::attach(|py| {
                py.detach(move || {
                    let received = receiver.recv_timeout(SIGNAL_WAIT);
                    (receiver, received)
                })
            });
            match received {
                Ok(batch) => {
                    if batch.is_ok() {
                        self.batches = Some(receiver);
                    }
                    return Some(batch);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(raised) = signal() {
                        self.task.stop.store(true, Ordering::Relaxed);
                        return Some(Err(ArrowError::ExternalError(Box::new(raised))));
                    }
                }
            }
        }
    }
}

impl RecordBatchReader for JoinReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Drop for JoinReader {
    /// Ends the join, and waits until its files are removed.
    fn drop(&mut self) {
        self.task.stop.store(true, Ordering::Relaxed);
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            without_lock(|| drop(thread.join()));
        }
    }
}

/// The plan with the sides as they were given.
fn exchange_sides(plan: &mut Json) {
    let other = |side: &Json| match side.as_str() {
        Some("left") => json!("right"),
        Some("right") => json!("left"),
        _ => Json::Null,
    };
    let (left, right) = (plan["left"].take(), plan["right"].take());
    (plan["left"], plan["right"]) = (right, left);
    plan["inner"] = other(&plan["inner"]);
    for alternative in plan["alternatives"].as_array_mut().into_iter().flatten() {
        alternative["inner"] = other(&alternative["inner"]);
    }
}

#[pymethods]
impl Join {
    #[new]
    fn new(left: &JoinInput, right: &JoinInput, settings: Settings) -> PyResult<Self> {
        Ok(Self { prepared: Native::new(Prepared::new(sources([left, right], &settings.how)?, &settings)?) })
    }

    #[getter]
    fn column_names(&self) -> PyResult<Vec<String>> {
        Ok(self.prepared.get()?.schema().fields().iter().map(|field| field.name().clone()).collect())
    }

    /// The methods with their predicted times, as JSON.
    fn plan(&self, py: Python<'_>) -> PyResult<String> {
        let prepared = self.prepared.get()?;
        let found = interruptible(py, None, |task| {
            let (left, right) = prepared.sides();
            join::explain(left, right, &prepared.options(task))
        })?;
        let mut plan = serde_json::to_value(&found).map_err(|error| errors::new("OgiveError", &error.to_string()))?;
        plan["predicted"]["elapsed_us"] = json!(found.predicted.elapsed_us());
        for (shown, alternative) in plan["alternatives"].as_array_mut().into_iter().flatten().zip(&found.alternatives) {
            if let Some(cost) = &alternative.predicted {
                shown["predicted"]["elapsed_us"] = json!(cost.elapsed_us());
            }
        }
        if prepared.is_exchanged {
            exchange_sides(&mut plan);
        }
        let picture = JoinPlan(&found);
        plan["svg"] = json!(picture.to_svg());
        plan["html"] = json!(picture.to_html());
        Ok(plan.to_string())
    }

    /// The rows, as they are joined.
    fn rows(&self) -> PyResult<RowReader> {
        Ok(RowReader::new(Box::new(JoinReader::start(self.prepared.get()?))))
    }

    /// All rows.
    #[pyo3(signature = (progress=None))]
    fn collect(&self, py: Python<'_>, progress: Option<&Object<'_>>) -> PyResult<RowBatch> {
        let prepared = self.prepared.get()?;
        let batches = interruptible(py, progress, |task| {
            let batches = Batches::new(prepared.builder(), prepared.run(task)?);
            let own = |error: ArrowError| match error {
                ArrowError::ExternalError(error) => {
                    error.downcast::<Error>().map_or_else(|other| Error::input(other.to_string()), |it| *it)
                }
                other => Error::input(other.to_string()),
            };
            batches.map(|batch| batch.map_err(own)).collect::<ogive::Result<Vec<_>>>()
        })?;
        Ok(RowBatch::new(batches, prepared.schema()))
    }

    /// Writes the rows to a table; the number of rows.
    #[pyo3(signature = (path, replace=true, progress=None))]
    fn write(&self, py: Python<'_>, path: PathBuf, replace: bool, progress: Option<&Object<'_>>) -> PyResult<u64> {
        let prepared = self.prepared.get()?;
        interruptible(py, progress, |task| prepared.write(&path, replace, task))
    }
}
