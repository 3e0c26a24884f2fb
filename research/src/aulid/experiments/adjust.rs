//! Figure 16: AULID's throughput by alpha and beta, and without adjustment.

use anyhow::Result;

use crate::experiments::indexes::{IndexSubject, IndexWorkload, distinct, growing, run_in_memory};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set, or_report};
use crate::keys::AS_OSM;
use crate::output::Record;
use crate::workload::Mix;

pub(crate) const ADJUST: Experiment = Experiment {
    name: "aulid/adjust",
    about: "modelled throughput of W3 to W6 by alpha and beta, and without adjustment (AULID, Figure 16)",
    run,
};

const PROFILES: [&str; 1] = ["nvme"];
/// A set as hard as that of the paper's figure.
const KEY_SETS: [&str; 1] = [AS_OSM];
const MIXES: [Mix; 4] = [Mix::WriteOnly, Mix::ReadHeavy, Mix::Balanced, Mix::WriteHeavy];
const OPERATIONS: usize = 500_000;
/// The value of one parameter while the other varies: small, so that its own condition holds.
const SMALL_ALPHA: f64 = 0.0025;
const SMALL_BETA: f64 = 1.07;
const ALPHAS: [f64; 5] = [SMALL_ALPHA, 0.005, 0.01, 0.05, 0.1];
const BETAS: [f64; 4] = [1.2, 1.5, 2.0, 4.0];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let profiles = context.profiles_or(&PROFILES)?;
    let mixes = if context.workloads.is_empty() { &MIXES[..] } else { &context.workloads };
    let cases = cases();
    each_set(context, ADJUST.name, &KEY_SETS, output, |spec, output| {
        let set = growing(context, spec)?;
        for &mix in mixes {
            let population = mix.population(distinct(&set)?, context.seed);
            let progress = Progress::new(cases.len())?;
            for (subject, alpha, beta) in &cases {
                progress.on(format!("{} of {}, {mix}", subject.name, set.name()));
                let record = Record::new(ADJUST.name)
                    .keys(set.name())
                    .figure("workload", mix.name())
                    .figure("structure", subject.name.as_str())
                    .figure("alpha", *alpha)
                    .figure("beta", *beta);
                or_report(output, record.clone(), |output| {
                    let plan = IndexWorkload::uniform(context, subject, &population, mix, &profiles, OPERATIONS);
                    let run = run_in_memory(&plan)?;
                    for (place, profile) in profiles.iter().enumerate() {
                        let row = record
                            .clone()
                            .profile(profile.name())
                            .figure("operations", run.operations as u64)
                            .figure("modelled_ops_per_s", run.modelled_ops_per_s(place))
                            .figure("blocks_read_per_operation", run.blocks_per_operation())
                            .figure("log_bytes_per_operation", run.per_operation(run.log.bytes as f64))
                            .figure("file_bytes", run.file_bytes);
                        output.report(row)?;
                    }
                    Ok(())
                })?;
                progress.step();
            }
        }
        Ok(())
    })
}

/// AULID without adjustment, with each alpha, and with each beta.
fn cases() -> Vec<(IndexSubject, f64, f64)> {
    let adjusted = |alpha: f64, beta: f64| {
        let subject = IndexSubject::aulid("adjusted", |options| (options.alpha, options.beta) = (alpha, beta));
        (subject, alpha, beta)
    };
    let never = IndexSubject::aulid("never adjusted", |options| options.adjust = false);
    let mut cases = vec![(never, f64::NAN, f64::NAN)];
    cases.extend(ALPHAS.map(|alpha| adjusted(alpha, SMALL_BETA)));
    cases.extend(BETAS.map(|beta| adjusted(SMALL_ALPHA, beta)));
    cases
}
