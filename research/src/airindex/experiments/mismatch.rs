//! Figure 14: a design on a storage other than it was tuned for, compared with the design tuned for it.

use anyhow::Result;
use ogive::io::Profile;

use super::keys::Keys;
use super::rows::{IntegerRecords, kinds};
use super::settings::{KEY_SETS, Progress, profiles, search};
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;

pub(crate) const MISMATCH: Experiment = Experiment {
    name: "airindex/mismatch",
    about: "slowdown of a design on a storage other than it was tuned for (AirIndex, Figure 14; --full: whole grid)",
    run,
};

const PROFILES: [&str; 2] = ["nfs", "ssd"];
/// Powers of ten by which latency and bandwidth differ.
const FACTORS_LOG10: std::ops::RangeInclusive<i32> = -3..=3;
/// Size of a read that shows the bandwidth of a profile: large enough to hide the latency.
const MANY_BYTES: u64 = 1 << 40;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let options = search();
    let profiles = profiles(context, &PROFILES)?;
    each_set(context, MISMATCH.name, &KEY_SETS[..1], output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let records = IntegerRecords::new(Keys::load(&set)?, context.payload_bytes)?;
        for profile in &profiles {
            let (blocks, design) = records.tuned(profile, &options)?;
            let factors = factors(context.full);
            let progress = Progress::new(factors.len())?;
            for (latency_factor, bandwidth_factor) in factors {
                progress.on(format!("{} with {latency_factor}, {bandwidth_factor}", profile.name()));
                let actual = changed(profile, latency_factor, bandwidth_factor)?;
                let modelled_us = blocks.cost_us(&design, &actual, &options);
                let (_, best) = records.tuned(&actual, &options)?;
                let record = Record::new(MISMATCH.name)
                    .keys(set.name())
                    .profile(profile.name())
                    .design("tuned")
                    .figure("latency_factor", latency_factor)
                    .figure("bandwidth_factor", bandwidth_factor)
                    .figure("modelled_us", modelled_us)
                    .figure("best_us", best.cost.total_us)
                    .figure("slowdown", modelled_us / best.cost.total_us)
                    .figure("layers", kinds(&design))
                    .figure("best_layers", kinds(&best));
                output.report(record)?;
                progress.step();
            }
        }
        Ok(())
    })
}

/// Pairs of factors: each alone, or all of them with each other.
fn factors(full: bool) -> Vec<(f64, f64)> {
    let pairs = FACTORS_LOG10.flat_map(|latency| FACTORS_LOG10.map(move |bandwidth| (latency, bandwidth)));
    let chosen = pairs.filter(|&(latency, bandwidth)| full || latency == 0 || bandwidth == 0);
    chosen.map(|(latency, bandwidth)| (10_f64.powi(latency), 10_f64.powi(bandwidth))).collect()
}

/// The bandwidth of long reads.
pub(super) fn bandwidth_mb_per_s(profile: &Profile) -> f64 {
    MANY_BYTES as f64 / (profile.time_us(MANY_BYTES) - profile.time_us(0))
}

/// A profile with another latency and bandwidth.
pub(super) fn changed(profile: &Profile, latency_factor: f64, bandwidth_factor: f64) -> Result<Profile> {
    let name = format!("{} with {latency_factor}, {bandwidth_factor}", profile.name());
    let latency_us = profile.time_us(0) * latency_factor;
    let bandwidth_mb_per_s = bandwidth_mb_per_s(profile) * bandwidth_factor;
    Ok(Profile::affine(&name, latency_us, bandwidth_mb_per_s, profile.parallel())?)
}
