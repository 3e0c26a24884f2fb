//! Background work: memtables written out, tables compacted, values collected. With `threads: 0` the same steps are taken inside the
//! calls that make them due, one after the other, so that a run can be repeated exactly.

use super::compact::{Below, Collected, CompactJob, JobContext, Outcome, flush, run_split};
use super::core::{Change, Core, Shared};
use super::cursor::Cursor;
use super::entry::{KeyspaceId, MAX_SEQUENCE};
use super::generation::Generation;
use super::learn::{LearnTask, LearningStats};
use super::level::{LevelCursor, LevelTables};
use super::maintain::is_there;
use super::merge::MergeCursor;
use super::table_file::{Origin, TableFile};
use super::values::ValueHandle;
use super::version::{Edit, FileKind, Job, Levels, Limits, Picker, RangeStep, Reason, TableMeta, file_name};
use crate::error::{Error, Result};
use crate::io::Timer;
use crate::io::sync::MutexGuard;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Logs that are kept to be written anew.
const RECYCLED_LOGS: usize = 2;

/// A step of background work.
#[derive(Debug)]
enum Task {
    Flush(Arc<Generation>),
    /// Switching memtables, so that they are written out.
    Switch,
    Compact(Arc<Job>),
    Learn(LearnTask),
}

/// A task under way. Its end, by a panic too, is known to those who wait for it.
struct UnderWay<'a> {
    core: &'a Core,
    task: &'a Task,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut shared = self.core.shared.lock();
        // What the task was in the way of may be due now.
        shared.is_settled = false;
        match self.task {
            Task::Flush(_) => shared.is_flushing = false,
            Task::Switch => {}
            Task::Compact(job) => shared.running.retain(|running| !Arc::ptr_eq(running, job)),
            Task::Learn(_) => self.core.learner.end(),
        }
        if std::thread::panicking() {
            let detail = "background work has panicked, which is a fault of this program";
            self.core.fail(&mut shared, &Error::InvalidArgument(detail.to_owned()));
        }
        self.core.changed.notify_all();
    }
}

impl Core {
    /// A background thread's life. The first one leaves compactions to others if there are any, so that a flush never waits.
    pub(super) fn work(&self, number: usize) {
        let compacts = number > 0 || self.options.threads == 1;
        let mut shared = self.shared.lock();
        while !self.is_stopped() {
            let task = match shared.failure {
                None => self.next_task(&mut shared, compacts),
                Some(_) => None,
            };
            match task {
                Some(task) => {
                    drop(shared);
                    // What fails is kept in the shared state, for those who write.
                    _ = self.run(task);
                    shared = self.shared.lock();
                }
                None => {
                    // Learning waits for a time, and for nothing else that would wake a thread.
                    let wait_us = if compacts { self.learner.wait_us() } else { None };
                    shared = match wait_us {
                        Some(wait_us) => self.changed.wait_for(&self.shared, shared, wait_us),
                        None => self.changed.wait(&self.shared, shared),
                    };
                }
            }
        }
    }

    /// Takes all steps that are due, where no threads do.
    pub(super) fn work_inline(&self) -> Result<()> {
        if self.options.threads > 0 || self.read_only {
            return Ok(());
        }
        while self.work_once()? {}
        Ok(())
    }

    /// Takes one step that is due; `false` where none is.
    pub(super) fn work_once(&self) -> Result<bool> {
        let mut shared = self.shared.lock();
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

    /// Lets background work go on for a step: does it itself where no threads do, unless another caller is at it.
    pub(super) fn work_or_wait<'a>(&'a self, mut shared: MutexGuard<'a, Shared>) -> Result<MutexGuard<'a, Shared>> {
        if self.options.threads == 0 {
            if let Some(task) = self.next_task(&mut shared, true) {
                drop(shared);
                self.run(task)?;
                return Ok(self.shared.lock());
            }
            if !shared.is_flushing && shared.running.is_empty() {
                let cause = "work is left that nobody can do".to_owned();
                return Err(Error::StoreReadOnly { path: self.path(), cause });
            }
        }
        Ok(self.changed.wait(&self.shared, shared))
    }

    pub(super) fn limits(&self, shared: &Shared) -> Limits {
        let oldest = self.moments.oldest().unwrap_or(MAX_SEQUENCE);
        let limits = Limits::of(&self.options, oldest, shared.hidden.clone());
        Limits { misled: shared.misled.clone(), ..limits }
    }

    /// The next compaction, if one is due: looked for among the keyspaces that have changed since none was.
    fn next_job(&self, shared: &mut Shared) -> Option<Arc<Job>> {
        let oldest = self.moments.oldest().unwrap_or(MAX_SEQUENCE);
        if oldest > shared.looked_with && !shared.waiting.is_empty() {
            let waiting = std::mem::take(&mut shared.waiting);
            shared.unsettled.extend(waiting);
            shared.is_settled = false;
        }
        shared.looked_with = oldest;
        if shared.is_settled {
            return None;
        }
        let limits = self.limits(shared);
        let picker = Picker { state: &shared.state, limits: &limits, running: &shared.running };
        if let Some(job) = picker.pick_among(&shared.unsettled) {
            return Some(shared.start(job));
        }
        if shared.running.is_empty() {
            let waiting: Vec<KeyspaceId> =
                shared.unsettled.iter().copied().filter(|&id| picker.waits_for_snapshot(id)).collect();
            shared.settle(waiting);
        }
        None
    }

    fn next_task(&self, shared: &mut Shared, compacts: bool) -> Option<Task> {
        if !shared.is_flushing
            && let Some(generation) = shared.sealed.front()
        {
            let generation = Arc::clone(generation);
            shared.is_flushing = true;
            return Some(Task::Flush(generation));
        }
        if std::mem::take(&mut shared.is_switch_due) {
            return Some(Task::Switch);
        }
        if !compacts {
            return None;
        }
        // Learning is short, and look-ups gain from it at once; compactions are long.
        if let Some(task) = self.learner.next() {
            return Some(Task::Learn(task));
        }
        self.next_of_cleanups(shared).or_else(|| self.next_job(shared)).map(Task::Compact)
    }

    fn run(&self, task: Task) -> Result<()> {
        let under_way = UnderWay { core: self, task: &task };
        let outcome = match &task {
            Task::Flush(generation) => self.flush_generation(generation),
            Task::Switch => self.switch_for_cleanup(),
            Task::Compact(job) => self.compact_job(job),
            Task::Learn(task) => self.learn_one(task),
        };
        // Before the task counts as ended: nobody may take it up again that has just failed.
        // A store that is being closed interrupts its own work. Else it is the storage that does, and would again.
        if let Err(error) = &outcome
            && !(matches!(error, Error::Interrupted) && self.is_stopped())
        {
            self.fail(&mut self.shared.lock(), error);
        }
        drop(under_way);
        outcome
    }

    fn context(&self, origin: Origin) -> JobContext<'_> {
        JobContext {
            storage: &self.storage,
            bond: self.bond,
            options: &self.options,
            numbers: self,
            origin,
            stop: &self.stop,
            memory_bytes: self.options.job_bytes(),
        }
    }

    /// Writes the memtables of the oldest generation out; its logs are needed no more then.
    pub(super) fn flush_generation(&self, generation: &Generation) -> Result<()> {
        let timer = Timer::start();
        let _held = self.cache.reserve_scoped(self.options.job_bytes());
        let mut fresh = Fresh::default();
        let doubtful = generation.values.iter().filter(|handle| generation.doubtful.contains(&handle.number));
        let doubtful: Collected = doubtful.map(|handle| (handle.number, Arc::clone(&handle.file))).collect();
        for (&id, memtable) in generation.memtables().iter().filter(|(_, memtable)| !memtable.is_empty()) {
            let levels = {
                let shared = self.shared.lock();
                if !is_there(&shared, id) {
                    continue;
                }
                shared.state.levels(id).cloned().unwrap_or_default()
            };
            let snapshots = self.moments.held();
            let origin = Origin { keyspace: id, newest: 0 };
            let outcome = flush(&self.context(origin), memtable, &snapshots, Below::memtable(&levels), &doubtful)?;
            self.learner.learning_us.add(outcome.learning_us as u64);
            self.counters.flushed_bytes.add(outcome.tables.iter().map(|table| table.bytes).sum());
            self.open_outcome(id, outcome, &mut fresh)?;
        }
        let mut shared = self.shared.lock();
        let values = generation.values.iter().map(|handle| (handle.number, handle.file.len_bytes()));
        let edit = Edit {
            value_files_added: values.collect(),
            last_sequence: Some(generation.last_sequence),
            oldest_log: generation.logs.last().map(|part| part.number + 1),
            bound: self.bound_elsewhere(&generation.values),
            ..Edit::default()
        };
        for handle in &generation.values {
            shared.young_values.remove(&handle.number);
        }
        let hides = fresh.hides(generation.hidden_bytes);
        let front = shared.sealed.pop_front();
        let change = Change { edit, moved: generation.memtables().keys().copied().collect(), ..Change::default() };
        let outcome = self.install(&mut shared, change, fresh, 0);
        if outcome.is_err() {
            shared.young_values.extend(generation.values.iter().map(|handle| handle.number));
            if let Some(front) = front {
                shared.sealed.push_front(front);
            }
            return outcome;
        }
        shared.note_hidden(hides);
        for part in &generation.logs {
            shared.recyclable.push(part.number);
        }
        let obsolete = shared.recyclable.len().saturating_sub(RECYCLED_LOGS);
        let obsolete: Vec<u64> = shared.recyclable.drain(..obsolete).collect();
        drop(shared);
        for number in obsolete {
            // What cannot be removed now is removed when the store is opened again.
            _ = self.storage.remove(&super::wal::log_name(number));
        }
        self.counters.flushes.add(1);
        self.counters.flush_us.add(timer.elapsed_us() as u64);
        Ok(())
    }

    /// Which of these files another opening has begun, and which one.
    fn bound_elsewhere(&self, values: &[Arc<ValueHandle>]) -> Vec<(u64, u64)> {
        let bonds = values.iter().map(|handle| (handle.number, handle.file.bond().nonce));
        bonds.filter(|&(_, nonce)| nonce != self.bond.nonce).collect()
    }

    /// Opens a table that was just written, or taken in.
    pub(super) fn open_table(&self, meta: TableMeta) -> Result<Arc<TableFile>> {
        let mut opened = TableFile::open(&self.storage, self.bond.store, Arc::new(meta), &self.cache, &self.options)?;
        // From here on no other file passes for this one.
        if let Some(table) = Arc::get_mut(&mut opened) {
            let file_id = Some(table.table.file_id());
            table.meta = Arc::new(TableMeta { file_id, ..TableMeta::clone(&table.meta) });
        }
        Ok(opened)
    }

    /// Opens the new files of a flush or a compaction in a keyspace.
    fn open_outcome(&self, id: KeyspaceId, outcome: Outcome, fresh: &mut Fresh) -> Result<()> {
        for file in outcome.value_files {
            let handle = ValueHandle::new(&self.storage, file.number(), file);
            handle.mark_obsolete();
            fresh.values.push(handle);
        }
        let mut metas = outcome.tables.into_iter();
        while let Some(meta) = metas.next() {
            let number = meta.number;
            match self.open_table(meta) {
                Ok(table) => {
                    table.mark_obsolete();
                    fresh.tables.push((id, table));
                }
                Err(error) => {
                    for number in metas.map(|meta| meta.number).chain([number]) {
                        // What cannot be removed now is removed when the store is opened again.
                        _ = self.storage.remove(&file_name(number, FileKind::Table));
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Makes new files part of the store; tables of keyspaces that were dropped meanwhile are removed.
    ///
    /// # Errors
    /// As [`Self::apply`]; [`Error::MemoryShort`], with nothing changed, where there is no room for their indexes.
    fn install(&self, shared: &mut MutexGuard<'_, Shared>, change: Change, fresh: Fresh, level: usize) -> Result<()> {
        let is_kept = |(id, table): &(KeyspaceId, Arc<TableFile>)| is_there(shared, *id).then(|| Arc::clone(table));
        let change = Change { tables: fresh.tables.iter().filter_map(is_kept).collect(), ..change };
        self.check_room(shared, &change)?;
        let Change { mut edit, tables: kept, moved } = change;
        for (id, table) in fresh.tables {
            if is_there(shared, id) {
                edit.added.push((id, level, Arc::clone(&table.meta)));
                table.keep();
            }
        }
        for handle in &fresh.values {
            edit.value_files_added.push((handle.number, handle.file.len_bytes()));
            handle.keep();
            shared.add_values(Arc::clone(handle));
        }
        // Where this fails the edit may be durable all the same, so the files stay until the store is opened again.
        let outcome = self.apply(shared, Change { edit, tables: kept, moved });
        if outcome.is_err() {
            fresh.values.iter().for_each(|handle| shared.forget_values(handle.number));
        }
        outcome
    }

    /// Does a compaction, and makes its outcome part of the store.
    fn compact_job(&self, job: &Arc<Job>) -> Result<()> {
        if job.moves {
            let mut shared = self.shared.lock();
            if !is_there(&shared, job.keyspace) {
                return Ok(());
            }
            return self.apply(&mut shared, Change { edit: job.edit(), ..Change::default() });
        }
        let timer = Timer::start();
        let inputs = self.inputs(job)?;
        let Some(inputs) = inputs else { return Ok(()) };
        let outcome = self.run_parts(job, &inputs)?;
        self.counters.compactions.add(1);
        self.counters.compaction_read_bytes.add(job.bytes());
        self.counters.compaction_written_bytes.add(outcome.tables.iter().map(|table| table.bytes).sum());
        self.counters.moved_value_bytes.add(outcome.moved_bytes);
        self.learner.learning_us.add(outcome.learning_us as u64);
        self.finish(job, outcome)?;
        self.counters.compaction_us.add(timer.elapsed_us() as u64);
        Ok(())
    }

    /// The tables and value files that a job needs; `None` where its keyspace was dropped.
    fn inputs(&self, job: &Job) -> Result<Option<Inputs>> {
        let shared = self.shared.lock();
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
        // Snapshots that are taken from here on see the newest of all that is in the inputs.
        Ok(Some(Inputs { tables, levels, collected, snapshots: self.moments.held() }))
    }

    /// Does a job; one that somebody waits for in as many parts as there are threads.
    fn run_parts(&self, job: &Job, inputs: &Inputs) -> Result<Outcome> {
        // Parts end tables: what makes one table is one part.
        let parts_max = usize::try_from(job.bytes().div_ceil(self.options.table_bytes.max(1))).unwrap_or(usize::MAX);
        let threads = if job.reason == Reason::Asked { self.options.threads.clamp(1, parts_max.max(1)) } else { 1 };
        let borders = if threads > 1 { job.splits(threads) } else { Vec::new() };
        let newest = inputs.tables.values().map(|table| table.origin.newest).max().unwrap_or(0);
        let context = self.context(Origin { keyspace: job.keyspace, newest });
        let _held = self.cache.reserve_scoped(context.memory_bytes * threads.min(borders.len() + 1) as u64);
        run_split(&context, threads, borders, |part| CompactJob {
            cursor: inputs.cursor(job, context.ahead_bytes(inputs.tables.len())),
            removals: inputs.tables.values().map(|table| Arc::clone(&table.removals)).collect(),
            level: job.output_level,
            snapshots: &inputs.snapshots,
            below: inputs.below(job),
            collected: &inputs.collected,
            cuts: Some(job.cuts(self.options.table_bytes)),
            part,
        })
    }

    fn finish(&self, job: &Job, outcome: Outcome) -> Result<()> {
        let mut fresh = Fresh::default();
        self.open_outcome(job.keyspace, outcome, &mut fresh)?;
        let mut shared = self.shared.lock();
        if !is_there(&shared, job.keyspace) {
            return Ok(());
        }
        // What the inputs hid and the job has met is known to be dead now; at the bottom nothing is hidden.
        let hidden = job.inputs.iter().filter_map(|(_, table)| shared.hidden.get(&table.number)).sum::<u64>();
        let found = job.inputs.iter().map(|(_, table)| table.value_bytes()).sum::<u64>();
        let freed = found.saturating_sub(fresh.tables.iter().map(|(_, table)| table.meta.value_bytes()).sum());
        let hides = fresh.hides(if job.is_bottom { 0 } else { hidden.saturating_sub(freed) });
        let change = Change { edit: job.edit(), ..Change::default() };
        self.install(&mut shared, change, fresh, job.output_level)?;
        shared.note_hidden(hides);
        Ok(())
    }

    fn learn_one(&self, task: &LearnTask) -> Result<()> {
        match task {
            LearnTask::Table(level, table) => self.learn_table(*level, table),
            LearnTask::Level(keyspace, number, level) => match level.upgrade() {
                Some(level) => self.learn_level(*keyspace, *number, &level),
                None => Ok(()),
            },
        }
    }

    fn learn_table(&self, level: usize, table: &Arc<TableFile>) -> Result<()> {
        let timer = Timer::start();
        if let Some(model) = table.learn(&|| !self.is_stopped())? {
            table.set_model(Some(model));
            self.learner.note_learned(level, table, timer.elapsed_us());
        }
        Ok(())
    }

    /// Learns a level, unless it changes meanwhile: then the work is lost, and counted.
    fn learn_level(&self, keyspace: KeyspaceId, number: usize, level: &Arc<LevelTables>) -> Result<()> {
        let timer = Timer::start();
        let is_current = || {
            let shared = self.shared.lock();
            shared.trees.get(&keyspace).is_some_and(|tree| tree.view.get().levels.has(level))
        };
        let model = level.learn(&|| !self.is_stopped() && is_current())?;
        let is_given_up = model.is_none() || !is_current();
        let records = level.tables().iter().map(|table| table.meta.records).sum();
        if let Some(model) = model {
            match self.learner.has_room(model.memory_bytes()) {
                true => {
                    let held = self.cache.reserve_scoped(model.memory_bytes());
                    level.set_model(model, held);
                }
                false => self.learner.dropped.add(1),
            }
        }
        debug_assert!(number > 0, "level 0 is not learned as a whole");
        self.learner.note_level_learned(records, timer.elapsed_us(), is_given_up);
        Ok(())
    }

    /// What was learned, and what look-ups made of it.
    pub(super) fn learning_stats(&self) -> LearningStats {
        let shared = self.shared.lock();
        let mut stats = self.learner.stats(shared.tables.values());
        for tree in shared.trees.values() {
            for (_, level) in tree.view.get().levels.numbered() {
                if let Some(model) = level.model() {
                    stats.models += 1;
                    stats.model_bytes += model.memory_bytes();
                    stats.segments += model.segments() as u64;
                }
            }
        }
        stats
    }

    /// Learns all that is there; see [`Db::learn`](super::Db::learn).
    pub(super) fn learn(&self) -> Result<()> {
        if !self.options.fast_paths.models {
            return Ok(());
        }
        let trees: Vec<_> = self.shared.lock().trees.values().cloned().collect();
        for tree in trees {
            let levels = Arc::clone(&tree.view.get().levels);
            for table in &levels.newest {
                self.learn_table(0, table)?;
            }
            for (number, level) in levels.numbered() {
                if self.options.level_models {
                    self.learn_level(tree.id, number, level)?;
                } else {
                    level.tables().iter().try_for_each(|table| self.learn_table(number, table))?;
                }
            }
        }
        Ok(())
    }

    /// Merges all tables; see [`Db::compact`](super::Db::compact).
    pub(super) fn compact(&self) -> Result<()> {
        self.flush()?;
        let ids: Vec<KeyspaceId> = self.shared.lock().trees.keys().copied().collect();
        ids.into_iter().try_for_each(|id| self.compact_keyspace(id))?;
        // What this has freed of value files is collected.
        self.work_inline()
    }

    fn compact_keyspace(&self, id: KeyspaceId) -> Result<()> {
        let mut shared = self.shared.lock();
        let mut merges_runs = true;
        loop {
            if let Some(error) = self.refusal(&shared) {
                return Err(error);
            }
            let limits = self.limits(&shared);
            let picker = Picker { state: &shared.state, limits: &limits, running: &shared.running };
            let all = (Bound::Unbounded, Bound::Unbounded);
            let (step, is_run) = match picker.pick_range(id, all) {
                RangeStep::Done if merges_runs => (picker.pick_run(id, all), true),
                step => (step, false),
            };
            match step {
                RangeStep::Done => return Ok(()),
                RangeStep::Wait => shared = self.changed.wait(&self.shared, shared),
                RangeStep::Job(job) => {
                    let before = shared.state.levels(id).map_or(0, |levels| levels.iter().count());
                    let job = shared.start(*job);
                    drop(shared);
                    self.run(Task::Compact(job))?;
                    shared = self.shared.lock();
                    // Tables are cut by what they are expected to take, so a run may become as many tables again.
                    merges_runs &=
                        !is_run || shared.state.levels(id).is_some_and(|levels| levels.iter().count() < before);
                }
            }
        }
    }
}

impl Shared {
    /// Notes that no compaction is due; `waiting` keyspaces wait for a snapshot.
    fn settle(&mut self, waiting: Vec<KeyspaceId>) {
        self.unsettled.clear();
        self.waiting.extend(waiting);
        let (state, hidden) = (&self.state, &self.hidden);
        self.hiding.retain(|id| {
            let mut levels = state.levels(*id).into_iter().flat_map(|levels| levels.iter());
            levels.any(|(_, table)| hidden.contains_key(&table.number))
        });
        self.is_settled = true;
    }

    /// Notes how much of older values new tables hide.
    fn note_hidden(&mut self, hides: Vec<(KeyspaceId, u64, u64)>) {
        for (id, number, bytes) in hides.into_iter().filter(|(.., bytes)| *bytes > 0) {
            self.hidden.insert(number, bytes);
            self.hiding.insert(id);
            self.unsettled.insert(id);
        }
    }

    pub(super) fn start(&mut self, job: Job) -> Arc<Job> {
        let job = Arc::new(job);
        self.running.push(Arc::clone(&job));
        job
    }
}

/// New files, which are removed when they are dropped, unless they were installed.
#[derive(Debug, Default)]
struct Fresh {
    tables: Vec<(KeyspaceId, Arc<TableFile>)>,
    values: Vec<Arc<ValueHandle>>,
}

impl Fresh {
    /// What each of the tables hides of older values, with its keyspace and number, if all of them hide so many bytes.
    fn hides(&self, bytes: u64) -> Vec<(KeyspaceId, u64, u64)> {
        let pointed = |table: &TableFile| u128::from(table.meta.value_bytes());
        let all: u128 = self.tables.iter().map(|(_, table)| pointed(table)).sum();
        let part = |table: &TableFile| u128::from(bytes) * pointed(table) / all.max(1);
        self.tables.iter().map(|(id, table)| (*id, table.meta.number, part(table) as u64)).collect()
    }
}

/// What a compaction reads.
#[derive(Debug)]
struct Inputs {
    tables: BTreeMap<u64, Arc<TableFile>>,
    levels: Levels,
    collected: Collected,
    snapshots: Vec<u64>,
}

impl Inputs {
    /// All inputs, merged.
    fn cursor(&self, job: &Job, ahead_bytes: u64) -> Box<dyn Cursor> {
        let mut sources: Vec<Box<dyn Cursor>> = Vec::new();
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

    /// The tables that hold older entries than the inputs.
    fn below(&self, job: &Job) -> Below {
        if job.output_level > 0 {
            return Below::level(&self.levels, job.output_level);
        }
        // Of level 0, tables that are older than the newest input may hold older entries; so may all deeper ones.
        let rest = self.levels.level(0).iter().filter(|table| !job.has(table.number));
        let runs = rest.map(|table| vec![Arc::clone(table)]);
        Below::new(runs.chain((1..super::version::LEVELS).map(|level| self.levels.level(level).to_vec())))
    }
}
