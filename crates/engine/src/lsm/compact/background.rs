//! Background work: flushes, compactions, value collection and learning.
//!
//! With `threads: 0`, the same steps run inside the calls that make them due, one after the other, so a run is
//! reproducible.

use super::{
    CollectedFiles, JobOutput, LevelsBelow, MergeJob, PickLimits, Picker, RangeStep, TableForm, flush,
    run_subcompactions,
};
use crate::error::{Advice, Call, Cause, Error, Result, StoreFailure};
use crate::io::local::sync::MutexGuard;
use crate::io::{ListedFile, Timer};
use crate::lsm::core::reports::FinishedJob;
use crate::lsm::core::shared::{SharedState, StateChange};
use crate::lsm::core::store::Core;
use crate::lsm::objects::ObjectFolder;
use crate::lsm::read::merge::MergeCursor;
use crate::lsm::state::compaction_job::{CompactionJob, JobReason};
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{KeyspaceId, SEQUENCE_MAX};
use crate::lsm::state::live_snapshots::SeenAt;
use crate::lsm::state::memtable_set::MemtableSet;
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::learner::LearningTask;
use crate::lsm::state::tables::level::{LevelCursor, LevelTables};
use crate::lsm::state::tables::table_file::{KeyspaceStatement, TableFile, TableOrigin};
use crate::lsm::state::tables::value_files::ValueHandle;
use crate::lsm::state::version::{
    FileKind, KeyBounds, KeyspaceLevels, ManifestEdit, TableFileMeta, file_name, parse_file_name,
};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Old logs kept for recycling, at most.
const RECYCLED_LOGS_MAX: usize = 2;

/// A step of background work.
#[derive(Debug)]
enum BackgroundTask {
    Flush(Arc<MemtableSet>),
    /// Switches memtables, so that they get flushed.
    Switch,
    Compact(Arc<CompactionJob>),
    Learn(Box<dyn LearningTask>),
    /// Reads the filter of a table.
    ReadFilter(Arc<TableFile>),
    /// Removes files from an object store that no reader needs any more.
    Collect(Arc<ObjectFolder>),
}

/// A running task. Dropping it, even in a panic, wakes the threads that wait for its end.
struct RunningTask<'a> {
    core: &'a Core,
    task: &'a BackgroundTask,
}

impl Drop for RunningTask<'_> {
    fn drop(&mut self) {
        let mut shared = self.core.contents.lock();
        // Work that the task blocked may be due now.
        shared.is_nothing_due = false;
        match self.task {
            BackgroundTask::Flush(_) => shared.is_flushing = false,
            BackgroundTask::Switch | BackgroundTask::ReadFilter(_) => {}
            BackgroundTask::Collect(_) => shared.is_collecting = false,
            BackgroundTask::Compact(job) => shared.running.retain(|running| !Arc::ptr_eq(running, job)),
            BackgroundTask::Learn(_) => {
                if let Some(learner) = &self.core.background.learner {
                    learner.task_ended();
                }
            }
        }
        if std::thread::panicking() {
            let detail = "background work panicked; this is a bug";
            self.core.fail(&mut shared, &Error::input(detail));
        }
        self.core.contents.notify_changed();
    }
}

impl Core {
    /// The loop of a background thread. The first thread leaves compactions to the others if there are any, so a flush
    /// never waits for one.
    pub(in crate::lsm) fn work(&self, number: usize) {
        let compacts = number > 0 || self.options.threads == 1;
        let mut shared = self.contents.lock();
        while !self.is_stopped() {
            let task = match shared.failure {
                None => self.next_task(&mut shared, compacts),
                Some(_) => None,
            };
            match task {
                Some(task) => {
                    drop(shared);
                    // Errors are kept in the shared state and reported to writers.
                    _ = self.run(task);
                    shared = self.contents.lock();
                }
                None => {
                    // Learning becomes due with time, and nothing else would wake this thread for it.
                    let learner = self.background.learner.as_ref().filter(|_| compacts && shared.failure.is_none());
                    let learning_us = learner.and_then(|learner| learner.wait_us());
                    let objects = self.files.objects.as_ref().filter(|_| compacts && !shared.is_collecting);
                    let collection_us = objects.map(|objects| (objects.retired.wait_s() as f64 * 1e6).max(1e3));
                    let expiry_us = self.expiry_wait_us(&shared).filter(|_| compacts && shared.failure.is_none());
                    let wait_us = [learning_us, collection_us, expiry_us].into_iter().flatten().min_by(f64::total_cmp);
                    shared = match wait_us {
                        Some(wait_us) => self.contents.wait_for(shared, wait_us),
                        None => self.contents.wait(shared),
                    };
                }
            }
        }
    }

    /// Runs all due steps, if there are no background threads.
    pub(in crate::lsm) fn work_inline(&self) -> Result<()> {
        if self.options.threads > 0 || self.access.is_read_only() {
            return Ok(());
        }
        while self.work_once()? {}
        Ok(())
    }

    /// Runs one due step; returns `false` if none is due.
    pub(in crate::lsm) fn work_once(&self) -> Result<bool> {
        let mut shared = self.contents.lock();
        if shared.failure.is_some() || self.is_stopped() {
            return Ok(false);
        }
        match self.next_task(&mut shared, true) {
            Some(task) => {
                drop(shared);
                self.run(task)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// As [`Self::proceed`], where there is work to do.
    pub(in crate::lsm) fn work_or_wait<'a>(
        &'a self,
        shared: MutexGuard<'a, SharedState>,
    ) -> Result<MutexGuard<'a, SharedState>> {
        self.proceed(shared)?.ok_or_else(|| {
            let failure = StoreFailure::from("no background work can proceed; this is a bug");
            Error::stopped(self.path(), &failure)
        })
    }

    /// Lets background work proceed by one step: runs it here if there are no background threads, and waits for it if
    /// they or another caller are running it; `None` if nothing is due and no step is running.
    pub(in crate::lsm) fn proceed<'a>(
        &'a self,
        mut shared: MutexGuard<'a, SharedState>,
    ) -> Result<Option<MutexGuard<'a, SharedState>>> {
        if self.options.threads == 0 {
            if let Some(task) = self.next_task(&mut shared, true) {
                drop(shared);
                self.run(task)?;
                return Ok(Some(self.contents.lock()));
            }
            if !shared.is_flushing && shared.running.is_empty() {
                return Ok(None);
            }
        }
        Ok(Some(self.contents.wait(shared)))
    }

    pub(in crate::lsm) fn limits(&self, shared: &SharedState) -> PickLimits {
        let oldest = self.contents.live_snapshots.oldest().unwrap_or(SEQUENCE_MAX);
        PickLimits::of(&self.options, (oldest, self.expired_by_ms()), shared.hidden.clone())
    }

    /// The next due compaction, if any; only keyspaces that changed since the last check are searched.
    fn next_job(&self, shared: &mut SharedState) -> Option<Arc<CompactionJob>> {
        let oldest = self.contents.live_snapshots.oldest().unwrap_or(SEQUENCE_MAX);
        if oldest > shared.checked_with_snapshot && !shared.waiting_for_snapshot.is_empty() {
            let waiting_for_snapshot = std::mem::take(&mut shared.waiting_for_snapshot);
            shared.compaction_candidates.extend(waiting_for_snapshot);
            shared.is_nothing_due = false;
        }
        shared.checked_with_snapshot = oldest;
        self.recheck_expired(shared);
        if shared.is_nothing_due {
            return None;
        }
        let limits = self.limits(shared);
        let picker = Picker { state: &shared.state, limits: &limits, running: &shared.running };
        if let Some(job) = picker.pick_among(&shared.compaction_candidates) {
            return Some(shared.start(job));
        }
        if shared.running.is_empty() {
            let waiting_for_snapshot: Vec<KeyspaceId> =
                shared.compaction_candidates.iter().copied().filter(|&id| picker.waits_for_snapshot(id)).collect();
            shared.expiry_due_ms = if limits.expired_by_ms > 0 { picker.next_expiry_ms() } else { None };
            shared.note_nothing_due(waiting_for_snapshot);
        }
        None
    }

    fn next_task(&self, shared: &mut SharedState, compacts: bool) -> Option<BackgroundTask> {
        if !shared.is_flushing
            && let Some(memtable_set) = shared.sealed.front()
        {
            let memtable_set = Arc::clone(memtable_set);
            shared.is_flushing = true;
            return Some(BackgroundTask::Flush(memtable_set));
        }
        if std::mem::take(&mut shared.is_switch_due) {
            return Some(BackgroundTask::Switch);
        }
        if !compacts {
            return None;
        }
        while let Some(number) = shared.unread_filters.pop() {
            if let Some(table) = shared.tables.get(&number) {
                return Some(BackgroundTask::ReadFilter(Arc::clone(table)));
            }
        }
        if let Some(objects) = self.files.objects.as_ref().filter(|_| !shared.is_collecting)
            && objects.retired.wait_s() == 0
        {
            shared.is_collecting = true;
            return Some(BackgroundTask::Collect(Arc::clone(objects)));
        }
        // Learning is short and speeds up lookups at once; compactions are long.
        if let Some(task) = self.background.learner.as_ref().and_then(|learner| learner.next_task()) {
            return Some(BackgroundTask::Learn(task));
        }
        self.next_of_cleanups(shared).or_else(|| self.next_job(shared)).map(BackgroundTask::Compact)
    }

    fn run(&self, task: BackgroundTask) -> Result<()> {
        let running_task = RunningTask { core: self, task: &task };
        let outcome = match &task {
            BackgroundTask::Flush(memtable_set) => self.flush_memtable_set(memtable_set),
            BackgroundTask::Switch => self.switch_for_cleanup(),
            BackgroundTask::Compact(job) => self.compact_job(job),
            BackgroundTask::Learn(task) => task.run(&|| !self.is_stopped()),
            // What cannot be read is told to the lookups that need it.
            BackgroundTask::ReadFilter(table) => {
                _ = table.table.load_filter();
                Ok(())
            }
            // What cannot be removed now is removed later.
            BackgroundTask::Collect(objects) => {
                _ = self.collect_files(objects);
                Ok(())
            }
        };
        // Recorded before the task ends, so that no other thread retries it. An interruption is an error unless the
        // store is closing: then the storage caused it, and would again.
        if let Err(error) = &outcome
            && !(matches!(error, Error { cause: Cause::Interrupted, .. }) && self.is_stopped())
        {
            self.fail(&mut self.contents.lock(), error);
        }
        drop(running_task);
        outcome
    }

    /// Removes files from an object store that no reader needs any more.
    fn collect_files(&self, objects: &ObjectFolder) -> Result<()> {
        let (needed, oldest) = {
            let shared = self.contents.lock();
            (shared.needed_files(), self.files.manifest_number())
        };
        let is_left = |name: &str| match parse_file_name(name) {
            Some((number, FileKind::Manifest)) => number < oldest,
            Some((number, _)) => number < self.files.first_file && !needed.contains(name),
            None => false,
        };
        let kept = |listed: &[ListedFile]| self.forget_unneeded(objects, listed);
        objects.collect(self.files.binding.store, Some(oldest), is_left, kept)
    }

    /// Flushes the memtables of the oldest set; its logs are not needed afterwards.
    pub(in crate::lsm) fn flush_memtable_set(&self, memtable_set: &MemtableSet) -> Result<()> {
        let timer = Timer::start();
        let _held = self.files.cache.reserve_scoped(self.options.job_bytes());
        let written = loop {
            let before_bytes = self.contents.lock().table_bytes();
            let flush = |form| self.flush_in_form(memtable_set, form);
            match Self::in_form_that_fits(&self.options, std::iter::empty, flush) {
                Err(Error { cause: Cause::Memory { .. }, .. }) if self.compact_for_room(before_bytes)? => {}
                outcome => break outcome?,
            }
        };
        self.telemetry.counters.flushes.add(1);
        self.telemetry.counters.flush_us.add(timer.elapsed_us() as u64);
        self.report_flush(timer, written);
        Ok(())
    }

    /// Reduces the memory of open tables, which was `before_bytes`: runs a due compaction, waits for the end of a
    /// running one, or else merges tables that need no merge. `false` if there are none.
    ///
    /// # Errors
    /// Those of the compaction; [`Cause::Interrupted`] if the store is closed meanwhile.
    pub(in crate::lsm) fn compact_for_room(&self, before_bytes: u64) -> Result<bool> {
        let mut shared = self.contents.lock();
        if self.is_stopped() {
            return Err(Error::interrupted());
        }
        if shared.table_bytes() < before_bytes {
            return Ok(true);
        }
        let job = self.next_job(&mut shared).or_else(|| self.job_for_room(&mut shared));
        if let Some(job) = job {
            drop(shared);
            self.run(BackgroundTask::Compact(job))?;
            return Ok(true);
        }
        let running = shared.running.clone();
        let is_running = |job, shared: &SharedState| shared.running.iter().any(|other| Arc::ptr_eq(job, other));
        while running.iter().all(|job| is_running(job, &shared)) {
            if running.is_empty() || shared.failure.is_some() {
                return Ok(false);
            }
            if self.is_stopped() {
                return Err(Error::interrupted());
            }
            shared = self.contents.wait(shared);
        }
        Ok(true)
    }

    fn job_for_room(&self, shared: &mut SharedState) -> Option<Arc<CompactionJob>> {
        if !shared.running.is_empty() {
            return None;
        }
        let limits = self.limits(shared);
        let job = Picker { state: &shared.state, limits: &limits, running: &[] }.room_job();
        job.map(|job| shared.start(job))
    }

    fn flush_in_form(&self, memtable_set: &MemtableSet, form: TableForm) -> Result<FinishedJob> {
        let (new_files, written) = self.write_flush(memtable_set, form)?;
        self.install_flush(memtable_set, new_files)?;
        Ok(written)
    }

    /// Writes the tables of a memtable set.
    fn write_flush(&self, memtable_set: &MemtableSet, form: TableForm) -> Result<(NewFiles, FinishedJob)> {
        let (mut new_files, mut written) = (NewFiles::default(), FinishedJob::default());
        let is_unconfirmed = |handle: &&Arc<ValueHandle>| memtable_set.unconfirmed_values.contains(&handle.number);
        let unconfirmed = memtable_set.values.iter().filter(is_unconfirmed);
        let unconfirmed: CollectedFiles = unconfirmed.map(|handle| (handle.number, Arc::clone(&handle.file))).collect();
        for (&id, memtable) in memtable_set.memtables().iter().filter(|(_, memtable)| !memtable.is_empty()) {
            let levels = {
                let shared = self.contents.lock();
                if !shared.has_keyspace(id) {
                    continue;
                }
                shared.state.levels(id).cloned().unwrap_or_default()
            };
            let snapshots = self.contents.live_snapshots.points();
            let origin = TableOrigin { keyspace: id, newest: 0 };
            let statement = self.statement(id);
            let options = self.options.of_keyspace(&statement.options);
            let form = form.of_keyspace(&self.options, &options);
            let outcome = flush(
                &self.context(&options, form, origin, &statement),
                memtable,
                (&snapshots, self.expired_by_ms()),
                LevelsBelow::memtable(&levels),
                &unconfirmed,
            )?;
            let table_bytes = outcome.tables.iter().map(|table| table.bytes).sum();
            written.tables += outcome.tables.len();
            written.written_bytes += table_bytes;
            self.telemetry.counters.flushed_bytes.add(table_bytes);
            self.telemetry.counters.value_bytes.add(outcome.separated_bytes);
            self.open_outcome(id, outcome, form, &mut new_files)?;
        }
        Ok((new_files, written))
    }

    /// Puts the tables of a memtable set in its place.
    fn install_flush(&self, memtable_set: &MemtableSet, new_files: NewFiles) -> Result<()> {
        let kept = self.keep_logs(memtable_set)?;
        let mut shared = self.contents.lock();
        let values = memtable_set.values.iter().map(|handle| (handle.number, handle.file.len_bytes()));
        let edit = ManifestEdit {
            value_files_added: values.collect(),
            last_sequence: Some(memtable_set.last_sequence),
            oldest_log: memtable_set.logs.last().map(|part| part.number + 1),
            bound: self.bound_elsewhere(&memtable_set.values),
            kept,
            ..ManifestEdit::default()
        };
        for handle in &memtable_set.values {
            shared.unflushed_values.remove(&handle.number);
        }
        let hides = new_files.hides(memtable_set.hidden_bytes);
        let front = shared.sealed.pop_front();
        let change = StateChange {
            edit,
            switched: memtable_set.memtables().keys().copied().collect(),
            ..StateChange::default()
        };
        let outcome = self.install(&mut shared, change, new_files, 0, 0);
        if outcome.is_err() {
            shared.unflushed_values.extend(memtable_set.values.iter().map(|handle| handle.number));
            if let Some(front) = front {
                shared.sealed.push_front(front);
            }
            return outcome;
        }
        shared.note_hidden(hides);
        self.recycle_logs(shared, memtable_set);
        Ok(())
    }

    /// Keeps the logs of a flushed memtable set for recycling, and removes surplus ones.
    fn recycle_logs(&self, mut shared: MutexGuard<'_, SharedState>, memtable_set: &MemtableSet) {
        shared.recyclable.extend(memtable_set.logs.iter().map(|log| log.number));
        let kept = if self.files.objects.is_some() { 0 } else { RECYCLED_LOGS_MAX };
        let surplus = shared.recyclable.len().saturating_sub(kept);
        let surplus: Vec<u64> = shared.recyclable.drain(..surplus).collect();
        drop(shared);
        for number in surplus {
            // A file that cannot be removed now is removed at the next opening.
            _ = self.files.storage.remove(&crate::lsm::state::log_header::log_name(number));
        }
    }

    /// The files among `values` that another opening began, with the nonce of that opening.
    fn bound_elsewhere(&self, values: &[Arc<ValueHandle>]) -> Vec<(u64, u64)> {
        let bindings = values.iter().map(|handle| (handle.number, handle.file.binding().nonce));
        bindings.filter(|&(_, nonce)| nonce != self.files.binding.nonce).collect()
    }

    /// Opens a table that was just written or ingested. On an object store its end may be kept in the manifest, and in
    /// memory.
    pub(in crate::lsm) fn open_table(&self, mut meta: TableFileMeta, keeps_end: bool) -> Result<Arc<TableFile>> {
        if let Some(objects) = self.files.objects.as_ref().filter(|_| keeps_end) {
            meta.tail = objects.read_tail(&file_name(meta.number, FileKind::Table), meta.bytes)?;
        }
        let learner = self.background.learner.as_deref();
        let mut opened = TableFile::open(
            &self.files.storage,
            self.files.binding.store,
            Arc::new(meta),
            &self.files.cache,
            &self.options.of_tables(),
            learner,
        )?;
        // From now on no other file is accepted in place of this one.
        if let Some(table) = Arc::get_mut(&mut opened) {
            let file_id = Some(table.table.file_id());
            table.meta = Arc::new(TableFileMeta { file_id, ..TableFileMeta::clone(&table.meta) });
        }
        Ok(opened)
    }

    /// Opens the new files of a flush or a compaction.
    fn open_outcome(
        &self,
        id: KeyspaceId,
        outcome: JobOutput,
        form: TableForm,
        new_files: &mut NewFiles,
    ) -> Result<()> {
        for file in outcome.value_files {
            let handle = ValueHandle::new(&self.files.storage, file.number(), file);
            handle.mark_obsolete();
            new_files.values.push(handle);
        }
        let mut metas = outcome.tables.into_iter();
        while let Some(meta) = metas.next() {
            let number = meta.number;
            match self.open_table(meta, !form.is_coarsest) {
                Ok(table) => {
                    table.mark_obsolete();
                    new_files.tables.push((id, table));
                }
                Err(error) => {
                    for number in metas.map(|meta| meta.number).chain([number]) {
                        // A file that cannot be removed now is removed at the next opening.
                        _ = self.files.storage.remove(&file_name(number, FileKind::Table));
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Installs new files in the store, and leaves `free_bytes` of the memory of open tables; tables of keyspaces
    /// dropped in the meantime are removed.
    ///
    /// # Errors
    /// As [`Self::apply`]; [`Cause::Memory`] if there is no memory for their indexes, with nothing changed.
    fn install(
        &self,
        shared: &mut MutexGuard<'_, SharedState>,
        change: StateChange,
        new_files: NewFiles,
        level: usize,
        free_bytes: u64,
    ) -> Result<()> {
        let is_kept = |(id, table): &(KeyspaceId, Arc<TableFile>)| shared.has_keyspace(*id).then(|| Arc::clone(table));
        let change = StateChange { tables: new_files.tables.iter().filter_map(is_kept).collect(), ..change };
        self.check_room(shared, &change, free_bytes)?;
        let StateChange { mut edit, tables: kept, switched } = change;
        for (id, table) in new_files.tables {
            if shared.has_keyspace(id) {
                edit.added.push((id, level, Arc::clone(&table.meta)));
                table.keep();
            }
        }
        for handle in &new_files.values {
            edit.value_files_added.push((handle.number, handle.file.len_bytes()));
            handle.keep();
            shared.add_values(Arc::clone(handle));
        }
        // After a failure the edit may still be durable, so the files stay until the next opening.
        let outcome = self.apply(shared, StateChange { edit, tables: kept, switched });
        if outcome.is_err() {
            new_files.values.iter().for_each(|handle| shared.forget_values(handle.number));
        }
        outcome
    }

    /// Runs a compaction and installs its output.
    fn compact_job(&self, job: &Arc<CompactionJob>) -> Result<()> {
        if job.moves || job.drops {
            let mut shared = self.contents.lock();
            if !shared.has_keyspace(job.keyspace) {
                return Ok(());
            }
            return self.apply(&mut shared, StateChange { edit: job.edit(), ..StateChange::default() });
        }
        let timer = Timer::start();
        let inputs = self.inputs(job)?;
        let Some(inputs) = inputs else { return Ok(()) };
        let statement = self.statement(job.keyspace);
        let options = self.options.of_keyspace(&statement.options);
        let compact = |form| self.compact_in_form(job, &inputs, (&options, form, &statement));
        let done = Self::in_form_that_fits(&options, || inputs.tables.values(), compact)?;
        self.telemetry.counters.compaction_us.add(timer.elapsed_us() as u64);
        self.report_compaction(timer, job, done);
        Ok(())
    }

    fn compact_in_form(&self, job: &CompactionJob, inputs: &JobInputs, output: OutputRules<'_>) -> Result<FinishedJob> {
        let outcome = self.run_parts(job, inputs, output)?;
        self.telemetry.counters.compactions.add(1);
        self.telemetry.counters.compaction_read_bytes.add(job.bytes());
        let done = FinishedJob {
            tables: outcome.tables.len(),
            read_bytes: job.bytes(),
            written_bytes: outcome.tables.iter().map(|table| table.bytes).sum(),
            moved_value_bytes: outcome.moved_bytes,
        };
        self.telemetry.counters.compaction_written_bytes.add(done.written_bytes);
        self.telemetry.counters.moved_value_bytes.add(done.moved_value_bytes);
        self.finish(job, outcome, output.1)?;
        Ok(done)
    }

    /// The tables and value files that a job needs; `None` if its keyspace was dropped.
    fn inputs(&self, job: &CompactionJob) -> Result<Option<JobInputs>> {
        let shared = self.contents.lock();
        let Some(levels) = shared.state.levels(job.keyspace).cloned() else { return Ok(None) };
        let mut tables = BTreeMap::new();
        for (_, meta) in &job.inputs {
            match shared.tables.get(&meta.number) {
                Some(table) => _ = tables.insert(meta.number, Arc::clone(table)),
                None => return Ok(None),
            }
        }
        let collected = job.collect.iter().filter_map(|number| shared.values.0.get(number));
        let collected = collected.map(|handle| (handle.number, Arc::clone(&handle.file))).collect();
        drop(shared);
        // Snapshots taken from here on see the newest version of everything in the inputs, at a later time than this.
        let expired_by_ms = self.expired_by_ms();
        Ok(Some(JobInputs {
            tables,
            levels,
            collected,
            snapshots: self.contents.live_snapshots.points(),
            expired_by_ms,
        }))
    }

    /// Runs a job; a requested one in as many parts as there are threads.
    fn run_parts(
        &self,
        job: &CompactionJob,
        inputs: &JobInputs,
        (options, form, statement): OutputRules<'_>,
    ) -> Result<JobOutput> {
        let form = if job.makes_one_table { TableForm { table_bytes: u64::MAX, ..form } } else { form };
        // Each part ends its last table, so a job that makes one table stays in one part.
        let parts_max = usize::try_from(job.bytes().div_ceil(form.table_bytes.max(1))).unwrap_or(usize::MAX);
        let threads =
            if job.reason == JobReason::Requested { self.options.threads.clamp(1, parts_max.max(1)) } else { 1 };
        let borders = if threads > 1 { job.splits(threads) } else { Vec::new() };
        let newest = inputs.tables.values().map(|table| table.origin.newest).max().unwrap_or(0);
        let context = self.context(options, form, TableOrigin { keyspace: job.keyspace, newest }, statement);
        let _held = self.files.cache.reserve_scoped(context.memory_bytes * threads.min(borders.len() + 1) as u64);
        run_subcompactions(&context, threads, borders, |part| MergeJob {
            cursor: inputs.cursor(job, context.read_ahead_bytes(inputs.tables.len())),
            tombstones: inputs.tables.values().map(|table| Arc::clone(&table.tombstones)).collect(),
            level: job.output_level,
            snapshots: &inputs.snapshots,
            expired_by_ms: inputs.expired_by_ms,
            below: inputs.below(job),
            collected: &inputs.collected,
            separated_from_bytes: u64::MAX,
            cuts: Some(job.cuts(form.table_bytes)),
            part,
        })
    }

    fn finish(&self, job: &CompactionJob, outcome: JobOutput, form: TableForm) -> Result<()> {
        let mut new_files = NewFiles::default();
        self.open_outcome(job.keyspace, outcome, form, &mut new_files)?;
        let mut shared = self.contents.lock();
        if !shared.has_keyspace(job.keyspace) {
            return Ok(());
        }
        // Hidden values that the job has met are now known to be dead; at the bottom nothing is hidden.
        let hidden = job.inputs.iter().filter_map(|(_, table)| shared.hidden.get(&table.number)).sum::<u64>();
        let found = job.inputs.iter().map(|(_, table)| table.value_bytes()).sum::<u64>();
        let freed = found.saturating_sub(new_files.tables.iter().map(|(_, table)| table.meta.value_bytes()).sum());
        let hides = new_files.hides(if job.is_bottom { 0 } else { hidden.saturating_sub(freed) });
        let change = StateChange { edit: job.edit(), ..StateChange::default() };
        // Memtables need room for their tables. There may be none for records that are new.
        let free_bytes = if form.is_coarsest { 0 } else { shared.unflushed_bytes() };
        self.install(&mut shared, change, new_files, job.output_level, free_bytes)?;
        shared.note_hidden(hides);
        Ok(())
    }

    /// Learns all tables or levels; see [`Db::learn`](crate::lsm::Db::learn).
    pub(in crate::lsm) fn learn(&self) -> Result<()> {
        match &self.background.learner {
            Some(learner) => learner.learn_all(&|| !self.is_stopped()),
            None if !self.options.fast_paths.models => Ok(()),
            None => Err(Error::input("the store has no learning policy").advise(Advice::Use(Call::SetLearning))),
        }
    }

    /// Merges all tables; see [`Db::compact`](crate::lsm::Db::compact).
    pub(in crate::lsm) fn compact(&self) -> Result<()> {
        self.flush()?;
        let ids: Vec<KeyspaceId> = self.contents.lock().trees.keys().copied().collect();
        let all = (Bound::Unbounded, Bound::Unbounded);
        ids.into_iter().try_for_each(|id| self.compact_range(id, all))
    }

    /// Merges the tables of a keyspace that have keys of a range, once its entries are in tables.
    pub(in crate::lsm) fn compact_range(&self, id: KeyspaceId, range: KeyBounds<'_>) -> Result<()> {
        self.merge_range(id, range)?;
        // Collects the value files whose values this has freed.
        self.work_inline()
    }

    fn merge_range(&self, id: KeyspaceId, range: KeyBounds<'_>) -> Result<()> {
        let mut shared = self.contents.lock();
        loop {
            if let Some(error) = self.refusal(&shared) {
                return Err(error);
            }
            let limits = self.limits(&shared);
            let picker = Picker { state: &shared.state, limits: &limits, running: &shared.running };
            let step = match picker.pick_range(id, range) {
                RangeStep::Done => picker.pick_run(id, range),
                step => step,
            };
            match step {
                RangeStep::Done => return Ok(()),
                RangeStep::Wait => shared = self.contents.wait(shared),
                RangeStep::Job(job) => {
                    let job = shared.start(*job);
                    drop(shared);
                    self.run(BackgroundTask::Compact(job))?;
                    shared = self.contents.lock();
                }
            }
        }
    }
}

impl SharedState {
    /// Records that no compaction is due, and the keyspaces that wait for a snapshot to be dropped.
    fn note_nothing_due(&mut self, waiting_for_snapshot: Vec<KeyspaceId>) {
        self.compaction_candidates.clear();
        self.waiting_for_snapshot.extend(waiting_for_snapshot);
        let (state, hidden) = (&self.state, &self.hidden);
        self.hiding.retain(|id| {
            let mut levels = state.levels(*id).into_iter().flat_map(|levels| levels.iter());
            levels.any(|(_, table)| hidden.contains_key(&table.number))
        });
        self.is_nothing_due = true;
    }

    /// Records how many bytes of older values new tables hide.
    fn note_hidden(&mut self, hides: Vec<(KeyspaceId, u64, u64)>) {
        for (id, number, bytes) in hides.into_iter().filter(|(.., bytes)| *bytes > 0) {
            self.hidden.insert(number, bytes);
            self.hiding.insert(id);
            self.compaction_candidates.insert(id);
        }
    }

    pub(in crate::lsm) fn start(&mut self, job: CompactionJob) -> Arc<CompactionJob> {
        let job = Arc::new(job);
        self.running.push(Arc::clone(&job));
        job
    }
}

/// New files, which are removed on drop unless they were installed.
#[derive(Debug, Default)]
struct NewFiles {
    tables: Vec<(KeyspaceId, Arc<TableFile>)>,
    values: Vec<Arc<ValueHandle>>,
}

impl NewFiles {
    /// Distributes `bytes` of hidden older values over the tables: keyspace, table number, and share of each.
    fn hides(&self, bytes: u64) -> Vec<(KeyspaceId, u64, u64)> {
        let pointed = |table: &TableFile| u128::from(table.meta.value_bytes());
        let all: u128 = self.tables.iter().map(|(_, table)| pointed(table)).sum();
        let part = |table: &TableFile| u128::from(bytes) * pointed(table) / all.max(1);
        self.tables.iter().map(|(id, table)| (*id, table.meta.number, part(table) as u64)).collect()
    }
}

/// The options of a keyspace, the form of its tables, and what these state.
type OutputRules<'a> = (&'a DbOptions, TableForm, &'a KeyspaceStatement);

/// The inputs of a compaction.
#[derive(Debug)]
struct JobInputs {
    tables: BTreeMap<u64, Arc<TableFile>>,
    levels: KeyspaceLevels,
    collected: CollectedFiles,
    snapshots: Vec<SeenAt>,
    expired_by_ms: u64,
}

impl JobInputs {
    /// A cursor over all inputs, merged.
    fn cursor(&self, job: &CompactionJob, ahead_bytes: u64) -> Box<dyn EntryCursor> {
        let mut sources: Vec<Box<dyn EntryCursor>> = Vec::new();
        for level in job.inputs.chunk_by(|one, next| one.0 == next.0) {
            let tables: Vec<Arc<TableFile>> =
                level.iter().filter_map(|(_, meta)| self.tables.get(&meta.number)).cloned().collect();
            match level.first() {
                Some((0, _)) => sources.extend(tables.iter().map(|table| table.cursor(Some(ahead_bytes)))),
                _ => sources.push(Box::new(LevelCursor::new(Arc::new(LevelTables::new(tables)), Some(ahead_bytes)))),
            }
        }
        match sources.len() {
            1 => sources.remove(0),
            _ => Box::new(MergeCursor::new(sources)),
        }
    }

    /// The tables that contain older entries than the inputs.
    fn below(&self, job: &CompactionJob) -> LevelsBelow {
        if job.output_level > 0 {
            return LevelsBelow::level(&self.levels, job.output_level);
        }
        // Tables of level 0 outside the job may contain older entries, and so may all deeper levels.
        let rest = self.levels.level(0).iter().filter(|table| !job.has(table.number));
        let runs = rest.map(|table| vec![Arc::clone(table)]);
        LevelsBelow::new(
            runs.chain((1..crate::lsm::state::version::LEVELS).map(|level| self.levels.level(level).to_vec())),
        )
    }
}
