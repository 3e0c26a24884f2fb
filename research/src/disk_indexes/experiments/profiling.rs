//! Hardness of key sets: segments of the optimal piecewise linear approximation, and conflicts under FMCD.

use crate::models::fmcd;
use anyhow::Result;
use ogive_model::pla;

use crate::experiments::indexes::distinct;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::keys::{AS_COVID, AS_GENOME, AS_OSM, AS_PLANET};
use crate::output::Record;

pub(crate) const PROFILING: Experiment = Experiment {
    name: "disk/profiling",
    about: "segments by error and conflict degree of key sets (slides, Table 3; AULID, Table 1)",
    run,
};

const KEY_SETS: [&str; 8] = ["uniform", "lognormal", "step", "gmm", AS_COVID, AS_PLANET, AS_GENOME, AS_OSM];
/// Errors of the slides' Table 3; 32 and 4096 are the local and the global hardness of Wongkham et al.
const ERRORS: [u64; 6] = [16, 32, 64, 256, 1_024, 4_096];
/// Entries of 16 bytes per leaf of 4 KiB, filled to 80 % by a bulk load.
const LEAF_ENTRIES: u64 = 204;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_set(context, PROFILING.name, &KEY_SETS, output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let keys = distinct(&set)?;
        let count = keys.len() as u64;
        let mut record = Record::new(PROFILING.name).keys(set.name()).figure("keys_count", count);
        for error in ERRORS {
            let segments = pla::segments(keys.iter().copied().zip(0..), error);
            record = record.figure(&format!("segments_error_{error}"), segments);
        }
        let leaves = count.div_ceil(LEAF_ENTRIES);
        output.report(record.figure("btree_leaves", leaves).figure("conflict_degree", conflict_degree(&keys)))?;
        Ok(())
    })
}

/// Keys in the fullest slot, with as many slots as keys.
fn conflict_degree(keys: &[u64]) -> u64 {
    let slots = keys.len() as u64;
    let line = fmcd::fit(keys.len(), slots, |low, high| (keys[high] - keys[low]) as f64);
    fmcd::conflict_degree(keys.len(), slots, line, |index| (keys[index] - keys[0]) as f64) as u64
}
