//! The builder set (Figure 3, Section 7.3): the contribution of each kind of node.

use anyhow::Result;
use ogive::tune::LayerBuilderKind;

use super::keys::Keys;
use super::rows::{IntegerRecords, with_design};
use super::settings::{KEY_SETS, Progress, profiles, search};
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;

pub(crate) const BUILDERS: Experiment = Experiment {
    name: "airindex/builders",
    about: "the tuned design with fewer kinds of nodes: steps, bands, the paper's, and coded ones (AirIndex, Figure 3)",
    run,
};

const PROFILES: [&str; 6] = ["optane", "nvme", "ssd", "hdd", "nfs", "s3"];
const ALL: &str = "paper and coded";
const SETS: [(&str, &[LayerBuilderKind]); 5] = [
    (ALL, &LayerBuilderKind::ALL),
    ("paper", &[LayerBuilderKind::GStep, LayerBuilderKind::GBand, LayerBuilderKind::EBand]),
    ("steps", &[LayerBuilderKind::GStep]),
    ("bands", &[LayerBuilderKind::GBand, LayerBuilderKind::EBand]),
    ("coded", &[LayerBuilderKind::Coded]),
];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let profiles = profiles(context, &PROFILES)?;
    each_set(context, BUILDERS.name, &KEY_SETS, output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let records = IntegerRecords::new(Keys::load(&set)?, context.payload_bytes)?;
        let progress = Progress::new(profiles.len() * SETS.len())?;
        for profile in &profiles {
            let mut all_us = None;
            for (name, builders) in SETS {
                progress.on(format!("{name} on {}", profile.name()));
                let options = search().builders(builders.to_vec());
                let (blocks, design) = records.tuned(profile, &options)?;
                let modelled_us = design.cost.total_us;
                let record = Record::new(BUILDERS.name)
                    .keys(set.name())
                    .profile(profile.name())
                    .design("tuned")
                    .figure("builders", name)
                    .figure("modelled_us", modelled_us)
                    .figure("ratio_to_all", modelled_us / *all_us.get_or_insert(modelled_us));
                output.report(with_design(record, &blocks, &design))?;
                progress.step();
            }
        }
        Ok(())
    })
}
