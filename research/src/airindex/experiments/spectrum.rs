//! Figure 13: the tuned design on every storage from 1 us to 1,000 s and from 1 kB/s to 1 TB/s.

use anyhow::Result;
use ogive::io::Profile;

use super::keys::Keys;
use super::rows::{IntegerRecords, read_bytes, with_design};
use super::settings::{KEY_SETS, Progress, search};
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;

pub(crate) const SPECTRUM: Experiment = Experiment {
    name: "airindex/spectrum",
    about: "layers, bytes read and cost of the tuned design over latency and bandwidth (AirIndex, Figure 13)",
    run,
};

/// Powers of ten of the latency in microseconds: 1 us to 1,000 s.
const LATENCY_LOG10: std::ops::RangeInclusive<i32> = 0..=9;
/// Powers of ten of the bandwidth in MB/s: 1 kB/s to 1 TB/s.
const BANDWIDTH_LOG10: std::ops::RangeInclusive<i32> = -3..=6;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let options = search();
    each_set(context, SPECTRUM.name, &KEY_SETS[..1], output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let records = IntegerRecords::new(Keys::load(&set)?, context.payload_bytes)?;
        let progress = Progress::new(LATENCY_LOG10.count() * BANDWIDTH_LOG10.count())?;
        for (latency, bandwidth) in LATENCY_LOG10.flat_map(|latency| BANDWIDTH_LOG10.map(move |b| (latency, b))) {
            let (latency_us, bandwidth_mb_per_s) = (10_f64.powi(latency), 10_f64.powi(bandwidth));
            let name = format!("{latency_us} us, {bandwidth_mb_per_s} MB/s");
            progress.on(&name);
            let profile = Profile::affine(&name, latency_us, bandwidth_mb_per_s, 1)?;
            let (blocks, design) = records.tuned(&profile, &options)?;
            let record = Record::new(SPECTRUM.name)
                .keys(set.name())
                .design("tuned")
                .figure("latency_us", latency_us)
                .figure("bandwidth_mb_per_s", bandwidth_mb_per_s)
                .figure("index_layers", design.layers.len() as u64)
                .figure("read_bytes", read_bytes(&design))
                .figure("modelled_us", design.cost.total_us);
            output.report(with_design(record, &blocks, &design))?;
            progress.step();
        }
        Ok(())
    })
}
