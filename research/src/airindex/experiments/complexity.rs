//! Figure 8: step index complexity by the size of the data, latency and bandwidth.

use anyhow::Result;
use ogive::io::Profile;
use ogive::tune::step_complexity_us;

use crate::experiments::{Context, Experiment, Output};
use crate::output::Record;

pub(crate) const COMPLEXITY: Experiment = Experiment {
    name: "airindex/complexity",
    about: "cost of the best index of ideal steps by size of the data, latency and bandwidth (AirIndex, Figure 8)",
    run,
};

/// Bytes of a step with its pointer, as stored.
const STEP_BYTES: f64 = 16.0;
/// Sizes of the data: 2^10 to 2^40 bytes.
const SIZE_BITS: std::ops::RangeInclusive<u32> = 10..=40;
const LATENCIES_US: [f64; 4] = [10.0, 100.0, 1_000.0, 10_000.0];
const BANDWIDTHS_MB_PER_S: [f64; 4] = [1.0, 10.0, 100.0, 1_000.0];
/// What is fixed while the other one varies.
const LATENCY_US: f64 = 1_000.0;
const BANDWIDTH_MB_PER_S: f64 = 100.0;

fn run(_: &Context, output: &mut Output<'_>) -> Result<()> {
    let by_bandwidth = BANDWIDTHS_MB_PER_S.map(|bandwidth| ("bandwidth", LATENCY_US, bandwidth));
    let by_latency = LATENCIES_US.map(|latency| ("latency", latency, BANDWIDTH_MB_PER_S));
    for (part, latency_us, bandwidth_mb_per_s) in by_bandwidth.into_iter().chain(by_latency) {
        let profile = Profile::affine(part, latency_us, bandwidth_mb_per_s, 1)?;
        for bits in SIZE_BITS {
            let data_bytes = 1_u64 << bits;
            output.report(
                Record::new(COMPLEXITY.name)
                    .figure("part", part)
                    .figure("latency_us", latency_us)
                    .figure("bandwidth_mb_per_s", bandwidth_mb_per_s)
                    .figure("data_bytes", data_bytes)
                    .figure("complexity_us", step_complexity_us(data_bytes, STEP_BYTES, &profile))
                    .figure("one_read_us", profile.time_us(data_bytes)),
            )?;
        }
    }
    Ok(())
}
