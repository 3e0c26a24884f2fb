//! Cold lookups on this device with direct reads, compared with raw reads of 4 KiB.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ogive::io::{LocalStorage, Profile, Purpose, ReadRequest, ReadableFile, Storage, Timer};
use ogive::table::{Table, TableOptions};
use ogive::tune::DesignRequest;

use super::keys::Keys;
use super::lookups::check;
use super::settings::{Progress, designs};
use super::tables::{NAME, Recipe, layers, write_table};
use crate::experiments::device::measure_device;
use crate::experiments::{Context, Output};
use crate::output::{Record, Spread};
use crate::random::Random;

const DESIGNS: [&str; 4] = ["tuned", "btree", "pgm:64", "coded"];
const DESIGNS_FOR_TEXT: [&str; 2] = ["tuned", "coded"];
/// Name of the profile in records.
const PROFILE: &str = "this device";
const EXPERIMENT: &str = "airindex/designs";
const RAW_READ_BYTES: usize = 4096;
/// Lookups per table: with about 100 us per read, a fraction of a second.
const LOOKUPS: usize = 1_000;
const MEMORY_BYTES: u64 = 1 << 20;

/// A folder on a device whose profile is measured before its first use.
pub(super) struct MeasuredDevice {
    folder: PathBuf,
    profile: Option<(Profile, bool)>,
}

/// Times of one table, in microseconds.
#[derive(Default)]
struct Times {
    raw_us: Vec<f64>,
    open_us: Vec<f64>,
    /// The first lookup after opening.
    get_us: Vec<f64>,
    cold_us: Vec<f64>,
    /// A lookup of a table that stays open, without a cache.
    later_get_us: Vec<f64>,
}

impl MeasuredDevice {
    pub(super) fn new(context: &Context) -> Self {
        let folder = context.device.clone().unwrap_or_else(std::env::temp_dir);
        Self { folder, profile: None }
    }

    fn profile(&mut self) -> Result<(Profile, bool)> {
        if self.profile.is_none() {
            let progress = Progress::new(1)?;
            progress.on(format!("measuring the device under {}", self.folder.display()));
            let measured = measure_device(&self.folder)?;
            self.profile = Some((measured.to_profile()?, measured.cold));
        }
        self.profile.clone().context("the device has no profile")
    }

    /// Writes tables to the device, reads them cold, and reports a record for each.
    pub(super) fn measure(
        &mut self,
        name: &str,
        context: &Context,
        keys: &Keys,
        asked: &[u64],
        output: &mut Output<'_>,
    ) -> Result<()> {
        let (profile, profile_is_cold) = self.profile()?;
        let folder = tempfile::tempdir_in(&self.folder)
            .with_context(|| format!("no folder can be made under {}", self.folder.display()))?;
        let default: &[&str] = if matches!(keys, Keys::Lines(_)) { &DESIGNS_FOR_TEXT } else { &DESIGNS };
        let mut chosen: Vec<(DesignRequest, bool)> = Vec::new();
        for design in designs(context, default)? {
            let tuned = design == DesignRequest::Tuned;
            chosen.push((design.clone(), false));
            chosen.extend(tuned.then_some((design, true)));
        }
        let progress = Progress::new(chosen.len())?;
        for (design, kept_open) in &chosen {
            let label = format!("{design}{}", if *kept_open { " for lookups after opening" } else { "" });
            progress.on(format!("{label} on this device"));
            let recipe = Recipe { kept_open: *kept_open, ..Recipe::new(context, design, &profile) };
            let written = write_table(Arc::new(LocalStorage::new(folder.path())), keys, &recipe)?;
            let storage = Arc::new(LocalStorage::direct(folder.path()));
            let (times, cold) = time_lookups(storage, keys, asked, context.payload_bytes)?;
            let median = |times: &[f64]| Spread::of(times).median;
            let record = Record::new(EXPERIMENT)
                .keys(name)
                .profile(PROFILE)
                .design(&label)
                .figure("modelled_us", written.report.modelled_us(&profile))
                .figure("cold_us", median(&times.cold_us))
                .figure("open_us", median(&times.open_us))
                .figure("get_us", median(&times.get_us))
                .figure("raw_read_us", median(&times.raw_us))
                .figure("ratio", median(&times.get_us) / median(&times.raw_us))
                .figure("later_get_us", median(&times.later_get_us))
                .figure("later_ratio", median(&times.later_get_us) / median(&times.raw_us))
                .figure("cold", cold && profile_is_cold)
                .figure("index_bytes", written.report.index_bytes)
                .figure("block_size_bytes", written.report.block_size_bytes)
                .figure("layers", layers(&written.report))
                .figure("mean_read_bytes", written.report.data_mean_read_bytes)
                .figure("reads_per_get", written.report.reads_per_get.open as f64)
                .figure("lookups", times.get_us.len() as u64)
                .figure("build_s", written.build_s);
            output.report(record)?;
            progress.step();
        }
        Ok(())
    }
}

/// Raw reads, openings and lookups in turn, so that changes of the device affect all of them.
fn time_lookups(storage: Arc<dyn Storage>, keys: &Keys, asked: &[u64], payload_bytes: u32) -> Result<(Times, bool)> {
    let file = storage.open(NAME)?;
    let options = TableOptions::default().memory_bytes(MEMORY_BYTES);
    let (mut times, mut random) = (Times::default(), Random::new(1, "raw reads"));
    let kept = Table::open((Arc::clone(&storage), NAME), &TableOptions::default().memory_bytes(0))?;
    for &position in asked.iter().take(LOOKUPS) {
        times.raw_us.extend(raw_read_us(&*file, &mut random)?);
        let timer = Timer::start();
        let table = Table::open((Arc::clone(&storage), NAME), &options)?;
        let open_us = timer.elapsed_us();
        let key = keys.at(position as usize);
        let timer = Timer::start();
        check(&table, &key, payload_bytes)?;
        let get_us = timer.elapsed_us();
        let key = keys.at(random.below(keys.len() as u64) as usize);
        let timer = Timer::start();
        check(&kept, &key, payload_bytes)?;
        times.later_get_us.push(timer.elapsed_us());
        times.open_us.push(open_us);
        times.get_us.push(get_us);
        times.cold_us.push(open_us + get_us);
    }
    Ok((times, file.is_direct()))
}

/// Time of an aligned read of 4 KiB at a random place; `None` for a file that is too short.
fn raw_read_us(file: &dyn ReadableFile, random: &mut Random) -> Result<Option<f64>> {
    let places = file.len() / RAW_READ_BYTES as u64;
    if places == 0 {
        return Ok(None);
    }
    let offset = random.below(places) * RAW_READ_BYTES as u64;
    let mut buffer = vec![0; RAW_READ_BYTES];
    let timer = Timer::start();
    file.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Data })?;
    Ok(Some(timer.elapsed_us()))
}
