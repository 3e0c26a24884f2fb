//! Figure 20: time of the search and cost of its result by the number of candidates followed.

use anyhow::Result;
use ogive::io::Timer;
use ogive::tune::DesignRequest;

use super::keys::Keys;
use super::rows::{IntegerRecords, kinds};
use super::settings::{KEY_SETS, Progress, profiles, search};
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;

pub(crate) const TOP_K: Experiment = Experiment {
    name: "airindex/topk",
    about: "time of the search and cost of its design by the number of candidates followed (AirIndex, Figure 20)",
    run,
};

const PROFILES: [&str; 1] = ["ssd"];
const MOST_CANDIDATES: usize = 20;
const ROUNDS: usize = 3;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let profiles = profiles(context, &PROFILES)?;
    each_set(context, TOP_K.name, &KEY_SETS, output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let records = IntegerRecords::new(Keys::load(&set)?, context.payload_bytes)?;
        for profile in &profiles {
            let blocks = records.best_blocks(profile, &search())?;
            let progress = Progress::new(MOST_CANDIDATES)?;
            for top_k in 1..=MOST_CANDIDATES {
                progress.on(format!("k = {top_k}"));
                let options = search().top_k(top_k);
                let mut tune_s = Vec::new();
                let mut best = None;
                for _ in 0..ROUNDS {
                    let timer = Timer::start();
                    best = Some(blocks.design(&DesignRequest::Tuned, profile, &options));
                    tune_s.push(timer.elapsed_s());
                }
                let Some(design) = best else { continue };
                let record = Record::new(TOP_K.name)
                    .keys(set.name())
                    .profile(profile.name())
                    .design("tuned")
                    .figure("top_k", top_k as u64)
                    .spread("tune_s", &tune_s)
                    .figure("modelled_us", design.cost.total_us)
                    .figure("block_size_bytes", blocks.block_bytes())
                    .figure("layers", kinds(&design));
                output.report(record)?;
                progress.step();
            }
        }
        Ok(())
    })
}
