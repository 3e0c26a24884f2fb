//! A run of a workload on a structure, with its figures.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ogive::io::{LocalStorage, MemoryStorage, Profile, Storage, Timer};
use ogive::page::PageOptions;

use super::super::Context;
use super::memory::{LOAD_MEMORY_BYTES, RunMemory, pages};
use super::observed::ObservedWrites;
use super::store::IndexStore;
use super::subjects::IndexSubject;
use crate::workload::{Mix, Population, Requests};

/// Options of a run.
#[derive(Debug, Clone)]
pub(crate) struct IndexWorkload<'a> {
    pub(crate) subject: &'a IndexSubject,
    pub(crate) population: &'a Population,
    pub(crate) mix: Mix,
    pub(crate) requests: &'a Requests,
    /// Maximum number of operations; the keys to insert may run out before.
    pub(crate) operations: usize,
    pub(crate) seed: u64,
    /// Memory while the operations run.
    pub(crate) memory: PageOptions,
    /// Profiles that price the run.
    pub(crate) profiles: &'a [Profile],
    /// Whether the time of each operation is kept.
    pub(crate) latencies: bool,
}

impl<'a> IndexWorkload<'a> {
    /// Uniform requests, `operations` of them unless the command says otherwise, with a pool of 1 % of the data.
    pub(crate) fn uniform(
        context: &Context,
        subject: &'a IndexSubject,
        population: &'a Population,
        mix: Mix,
        profiles: &'a [Profile],
        operations: usize,
    ) -> Self {
        Self {
            subject,
            population,
            mix,
            requests: &Requests::Uniform,
            operations: context.lookups.unwrap_or(operations),
            seed: context.seed,
            memory: PageOptions::default(),
            profiles,
            latencies: false,
        }
        .with_memory(RunMemory::Pool)
    }

    /// The same with other memory.
    pub(crate) fn with_memory(self, memory: RunMemory) -> Self {
        let memory = pages(self.subject.options.pages.page_bytes, memory.memory_bytes(self.population));
        Self { memory, ..self }
    }
}

/// Figures of a run. Counts are those of the operations, without the load, and with the checkpoint at the end if
/// something was written.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkloadOutcome {
    pub(crate) load_s: f64,
    pub(crate) operations: usize,
    /// Time of the operations on the actual storage.
    pub(crate) wall_s: f64,
    /// Modelled time of the device, by profile.
    pub(crate) device_us: Vec<f64>,
    pub(crate) inner_blocks: u64,
    pub(crate) leaf_blocks: u64,
    /// Read requests, and their bytes.
    pub(crate) requests: u64,
    pub(crate) read_bytes: u64,
    /// Bytes written to the page file, and to the log.
    pub(crate) pages: ObservedWrites,
    pub(crate) log: ObservedWrites,
    pub(crate) file_bytes: u64,
    /// Time of each operation, by profile and then as measured; empty unless requested.
    pub(crate) latencies_us: Vec<Vec<f64>>,
}

/// Counters of a storage at one moment.
struct Mark {
    device_us: Vec<f64>,
    blocks: (u64, u64),
    requests: (u64, u64),
    written: (ObservedWrites, ObservedWrites),
}

impl Mark {
    fn of(store: &IndexStore) -> Self {
        let storage = &store.storage;
        let (blocks, requests) = (storage.blocks_read(), storage.requests());
        Self { device_us: storage.elapsed_us(), blocks, requests, written: storage.written() }
    }
}

/// Runs a plan on storage in memory: counts and modelled times do not depend on the device, and elapsed time is
/// processor time.
pub(crate) fn run_in_memory(plan: &IndexWorkload<'_>) -> Result<WorkloadOutcome> {
    run_plan(Arc::new(MemoryStorage::new()), plan)
}

/// Runs a plan on a device, in a temporary folder, with direct reads if possible; states whether they were.
pub(crate) fn run_on_device(device: &Path, plan: &IndexWorkload<'_>) -> Result<(WorkloadOutcome, bool)> {
    let folder =
        tempfile::tempdir_in(device).with_context(|| format!("no folder can be made under {}", device.display()))?;
    let storage = LocalStorage::direct(folder.path());
    let outcome = run_plan(Arc::new(storage.clone()), plan)?;
    Ok((outcome, !storage.refused_direct()))
}

/// Loads an index into `inner`, and runs the plan on it.
pub(crate) fn run_plan(inner: Arc<dyn Storage>, plan: &IndexWorkload<'_>) -> Result<WorkloadOutcome> {
    let mut options = plan.subject.options.clone();
    options.pages = pages(plan.memory.page_bytes, LOAD_MEMORY_BYTES);
    let keys = plan.population.loaded().iter().copied().map(Ok);
    let (store, load_s) = IndexStore::load(inner, &options, plan.profiles, keys)?;
    store.index.checkpoint()?;
    let store = store.reopen(plan.memory.clone())?;
    let operations = plan.mix.operations(plan.population, plan.requests, plan.operations, plan.seed)?;
    let start = Mark::of(&store);
    let mut latencies = Latencies::new(plan.latencies, plan.profiles.len());
    let timer = Timer::start();
    let count = if plan.mix.insert_percent() == 0 {
        store.read(operations, |_| latencies.note(&store, &timer))?
    } else {
        let count = store.drive(operations, |_| latencies.note(&store, &timer))?;
        store.index.checkpoint()?;
        count
    };
    let wall_s = timer.elapsed_s();
    let end = Mark::of(&store);
    let less = |end: ObservedWrites, start: ObservedWrites| ObservedWrites {
        bytes: end.bytes - start.bytes,
        syncs: end.syncs - start.syncs,
    };
    Ok(WorkloadOutcome {
        load_s,
        operations: count,
        wall_s,
        device_us: end.device_us.iter().zip(&start.device_us).map(|(end, start)| end - start).collect(),
        inner_blocks: end.blocks.0 - start.blocks.0,
        leaf_blocks: end.blocks.1 - start.blocks.1,
        requests: end.requests.0 - start.requests.0,
        read_bytes: end.requests.1 - start.requests.1,
        pages: less(end.written.0, start.written.0),
        log: less(end.written.1, start.written.1),
        file_bytes: store.file_bytes()?,
        latencies_us: latencies.taken,
    })
}

impl WorkloadOutcome {
    /// A count per operation.
    pub(crate) fn per_operation(&self, count: f64) -> f64 {
        count / self.operations.max(1) as f64
    }

    /// Blocks read per operation.
    pub(crate) fn blocks_per_operation(&self) -> f64 {
        self.per_operation((self.inner_blocks + self.leaf_blocks) as f64)
    }

    /// Modelled operations per second on the device of a profile, by its index in the plan, without processor time.
    pub(crate) fn modelled_ops_per_s(&self, profile: usize) -> f64 {
        1e6 * self.operations as f64 / self.device_us.get(profile).copied().unwrap_or(f64::NAN)
    }

    /// Operations per second on the actual storage.
    pub(crate) fn measured_ops_per_s(&self) -> f64 {
        self.operations as f64 / self.wall_s
    }
}

/// The time of each operation, by each clock.
struct Latencies {
    wanted: bool,
    before_us: Vec<f64>,
    taken: Vec<Vec<f64>>,
}

impl Latencies {
    fn new(wanted: bool, profiles: usize) -> Self {
        let taken = if wanted { vec![Vec::new(); profiles + 1] } else { Vec::new() };
        Self { wanted, before_us: Vec::new(), taken }
    }

    fn note(&mut self, store: &IndexStore, timer: &Timer) {
        if !self.wanted {
            return;
        }
        let mut now_us = store.storage.elapsed_us();
        now_us.push(timer.elapsed_us());
        // The first operation only starts the clocks, since the load ran before it.
        if !self.before_us.is_empty() {
            for ((taken, now_us), before_us) in self.taken.iter_mut().zip(&now_us).zip(&self.before_us) {
                taken.push(now_us - before_us);
            }
        }
        self.before_us = now_us;
    }
}
