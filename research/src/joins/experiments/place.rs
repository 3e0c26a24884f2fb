//! Storage of the relations, and the costs of a join on it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result};
use ogive::io::{LocalStorage, MemoryStorage, Meter, ModelledClock, Profile, Storage};
use ogive::join::{self, JoinOptions, JoinOutput, JoinPhase, JoinProgress, JoinReport, JoinSource};
use tempfile::TempDir;

use super::emulated::EmulatedStorage;
use crate::experiments::Context;
use crate::experiments::device::measure_device;
use crate::output::Record;
use crate::stopwatch::{Elapsed, Stopwatch};

/// Devices of the paper's figures and their neighbours.
pub(super) const PROFILES: [&str; 5] = ["nvme", "ssd", "hdd", "nfs", "s3"];
/// Name of the output.
const OUTPUT: &str = "joined";

/// The storages that joins read from and write to.
pub(super) struct Place {
    /// Its name in records.
    pub(super) name: String,
    /// Profile for the planner.
    pub(super) profile: Profile,
    /// Storage from which relations are read.
    pub(super) inputs: Arc<dyn Storage>,
    target: Target,
}

enum Target {
    /// Storage of results in memory; reads of the inputs and all access to spill files are priced.
    Modelled {
        clock: ModelledClock,
    },
    /// Storage of results in memory; reads of the inputs and all access to spill files take the time of the profile.
    Emulated {
        spill: EmulatedStorage,
    },
    Local {
        results: Arc<dyn Storage>,
    },
}

/// A finished join.
pub(super) struct Outcome {
    pub(super) report: JoinReport,
    pub(super) elapsed: Elapsed,
    /// Modelled time of the device; `None` where it is measured.
    pub(super) device_us: Option<f64>,
    /// Time until rows were joined: planning, and sorting, partitioning or building an index; `None` if none were.
    pub(super) preparation_us: Option<f64>,
}

/// The modelled time of a device so far.
type DeviceClock = Box<dyn Fn() -> f64 + Send + Sync>;

impl Outcome {
    /// Modelled device time plus processor time, or the elapsed time on a measured device.
    pub(super) fn total_us(&self) -> f64 {
        total_us(&self.elapsed, self.device_us)
    }

    /// The figures of every experiment.
    pub(super) fn figures(&self, record: Record) -> Record {
        let record = match self.device_us {
            Some(device_us) => record
                .figure("modelled_us", self.total_us())
                .figure("device_us", device_us)
                .figure("cpu_us", self.elapsed.process_s * 1e6),
            None => record
                .figure("measured_us", self.total_us())
                .figure("cpu_us", self.elapsed.process_s * 1e6)
                .figure("reading_us", self.report.seconds.reading * 1e6)
                .figure("writing_us", self.report.seconds.writing * 1e6),
        };
        record
            .figure("predicted_us", self.report.predicted_us)
            .figure("loading_us", self.report.seconds.loading * 1e6)
            .figure("requests", self.report.requests)
            .figure("bytes_read", self.report.bytes_read)
            .figure("peak_memory_bytes", self.report.peak_memory_bytes)
            .figure("rows", self.report.rows)
    }
}

impl Place {
    /// Relations in memory, priced by a profile.
    pub(super) fn modelled(relations: &Arc<dyn Storage>, profile: Profile) -> Self {
        let clock = ModelledClock::new(Arc::clone(relations), profile.clone());
        let inputs = Arc::new(clock.clone());
        Self { name: profile.name().to_owned(), profile, inputs, target: Target::Modelled { clock } }
    }

    /// Relations in memory, read and spilled as slowly as on a device with a profile.
    pub(super) fn emulated(relations: &Arc<dyn Storage>, profile: Profile) -> Self {
        let storage = EmulatedStorage::new(Arc::clone(relations), profile.clone());
        let spill = storage.over(Arc::new(MemoryStorage::new()));
        let name = format!("{}, emulated", profile.name());
        Self { name, profile, inputs: Arc::new(storage), target: Target::Emulated { spill } }
    }

    /// Relations in a folder, read directly or through the page cache.
    pub(super) fn local(folder: &Path, profile: Profile, is_direct: bool) -> Self {
        let name = if is_direct { "this device" } else { "this device, cached" }.to_owned();
        let (inputs, results): (Arc<dyn Storage>, Arc<dyn Storage>) = if is_direct {
            let results = LocalStorage::new(folder).with_direct_writes();
            (Arc::new(LocalStorage::direct(folder)), Arc::new(results))
        } else {
            (Arc::new(LocalStorage::new(folder)), Arc::new(LocalStorage::new(folder)))
        };
        Self { name, profile, inputs, target: Target::Local { results } }
    }

    /// Storage of the results.
    pub(super) fn results(&self) -> Arc<dyn Storage> {
        match &self.target {
            Target::Modelled { .. } | Target::Emulated { .. } => Arc::new(MemoryStorage::new()),
            Target::Local { results } => Arc::clone(results),
        }
    }

    /// Joins into a new table, which is discarded.
    pub(super) fn join(&self, left: &JoinSource, right: &JoinSource, options: &JoinOptions) -> Result<Outcome> {
        match &self.target {
            Target::Modelled { clock } => {
                let results: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
                let spilled = Meter::new(Arc::new(MemoryStorage::new()));
                let spill_clock = ModelledClock::new(Arc::new(spilled.clone()), self.profile.clone());
                clock.reset();
                let spill: Arc<dyn Storage> = Arc::new(spill_clock.clone());
                let (clock, profile) = (clock.clone(), self.profile.clone());
                let device_us = move || {
                    let writes = spilled.snapshot().writes;
                    let written_us = match writes.requests {
                        0 => 0.0,
                        requests => profile.time_us(writes.bytes / requests) * requests as f64,
                    };
                    clock.elapsed_us() + spill_clock.elapsed_us() + written_us
                };
                self.timed([left, right], options, &results, spill, Some(Box::new(device_us)))
            }
            Target::Emulated { spill } => {
                let results: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
                self.timed([left, right], options, &results, Arc::new(spill.clone()), None)
            }
            Target::Local { results } => {
                let outcome = self.timed([left, right], options, results, Arc::clone(results), None)?;
                results.remove(OUTPUT)?;
                Ok(outcome)
            }
        }
    }

    fn timed(
        &self,
        [left, right]: [&JoinSource; 2],
        options: &JoinOptions,
        results: &Arc<dyn Storage>,
        spill: Arc<dyn Storage>,
        device_us: Option<DeviceClock>,
    ) -> Result<Outcome> {
        let options = options.clone().profile(self.profile.clone()).spill(Some((spill, OUTPUT.into())));
        let output = JoinOutput::table(Arc::clone(results), OUTPUT, JoinOutput::options());
        let stopwatch = Stopwatch::start();
        let so_far = Arc::new(move || (stopwatch.elapsed(), device_us.as_ref().map(|device_us| device_us())));
        let prepared = Arc::new(OnceLock::new());
        let (clock, note) = (Arc::clone(&so_far), Arc::clone(&prepared));
        let options = options.watcher(move |progress: JoinProgress| {
            if progress.phase == JoinPhase::Joining {
                note.get_or_init(|| clock());
            }
        });
        let report = join::join(left, right, output, &options)?;
        let (elapsed, device_us) = so_far();
        let preparation_us = prepared.get().map(|&(elapsed, device_us)| total_us(&elapsed, device_us));
        Ok(Outcome { report, elapsed, device_us, preparation_us })
    }
}

/// Modelled time of the device plus time of the processor, or the elapsed time on a measured device.
fn total_us(elapsed: &Elapsed, device_us: Option<f64>) -> f64 {
    device_us.map_or(elapsed.wall_s * 1e6, |device_us| device_us + elapsed.process_s * 1e6)
}

/// This device: a temporary folder and its measured profile.
pub(super) struct Device {
    pub(super) folder: TempDir,
    pub(super) profile: Profile,
}

impl Device {
    /// Measures the requested device, else that of the system's temporary folder; `None` for modelled times only.
    pub(super) fn of(context: &Context) -> Result<Option<Self>> {
        if context.modelled_only {
            return Ok(None);
        }
        let path = context.device.clone().unwrap_or_else(std::env::temp_dir);
        let measured = measure_device(&path)?;
        let folder =
            tempfile::tempdir_in(&path).with_context(|| format!("no folder can be made under {}", path.display()))?;
        Ok(Some(Self { folder, profile: measured.to_profile()? }))
    }

    /// Storage to which relations are written.
    pub(super) fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(LocalStorage::new(self.folder.path()))
    }

    /// Relations with direct reads.
    pub(super) fn direct(&self) -> Place {
        Place::local(self.folder.path(), self.profile.clone(), true)
    }

    /// Relations read from the page cache.
    pub(super) fn cached(&self) -> Place {
        Place::local(self.folder.path(), join::cached_profile(), false)
    }
}
