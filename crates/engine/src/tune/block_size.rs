//! The choice of a data block size as part of the index design.

use super::builder::LayerBuilder;
use super::candidate::CoarseViews;
use super::complexity::BLOCK_BYTES_MIN;
use super::level_input::LevelInput;
use super::problem::DesignProblem;
use super::sample::TableSample;
use super::search::{CandidateSource, SearchNode, rank, tune};
use super::search_options::LayerBuilderKind;
use super::sizes::INDEX_PAGE_HEADER_BYTES;
use crate::error::{Error, Result};
use ogive_model::Fence;
use ogive_model::coded::{CodedLayer, Effort, EvenCuts, GROUP_CHILDREN_MAX, fit_flexible};
use std::ops::RangeInclusive;

/// Smallest and largest block size, as powers of two: 512 B to 1 MiB.
const BLOCK_SIZE_LOG2: RangeInclusive<u32> = BLOCK_BYTES_MIN.ilog2()..=20;
/// Largest number of data blocks, so that their fences take at most 32 MiB: for larger tables, small blocks are not
/// considered.
const CHILDREN_MAX: f64 = (1 << 21) as f64;
/// The largest block size is chosen whose cost, above that of the shortest possible opening and read, is at most this
/// ratio of the least: fewer blocks have fewer headers and checksums.
const COST_TOLERANCE_RATIO: f64 = 1.002;
/// The block size of tables and designs that state none.
const USUAL_BLOCK_BYTES: u32 = 4096;
/// Error of estimated costs: coded keys change the sizes of records along the input. Measured over the adversarial key
/// sets with values of 0 to 100 bytes.
const ESTIMATE_ERROR_RATIO: f64 = 1.01;
/// Number of sizes that are tuned in full if the sample is complete.
const REFINED_SIZES_MAX: usize = 3;
/// Number of blocks that are cut and coded on trial if the sample is partial.
const TRIAL_BLOCKS_MAX: usize = 1024;

/// The chosen block size, and the cost of each size considered.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSizeChoice {
    /// Size of a data block in bytes, a power of two.
    pub block_size_bytes: u32,
    /// Whether the best design for this size codes a separator for every block, so that blocks should end where
    /// separators compress best.
    pub ends_by_separator: bool,
    /// Size in bytes and lookup cost by the objective in microseconds of each size considered.
    pub considered: Vec<(u32, f64)>,
}

/// A size being evaluated.
#[derive(Clone, Copy, Debug)]
struct SizeTrial {
    size: u32,
    cost_us: f64,
    ends_by_separator: bool,
}

impl SizeTrial {
    /// The cost of full blocks under a design with this bottom layer, and of blocks that end by their separators.
    fn new(size: u32, filled_us: f64, bottom: Option<LayerBuilder>, coded_us: f64) -> Self {
        // Separators of all blocks are shorter if blocks end by them, whatever the estimates say.
        let is_coded =
            matches!(bottom, Some(LayerBuilder::Coded { lambda_bytes }) if lambda_bytes < 2 * u64::from(size));
        let ends_by_separator = coded_us < filled_us || (is_coded && coded_us.is_finite());
        Self { size, cost_us: filled_us.min(coded_us), ends_by_separator }
    }
}

/// Chooses the block size with the fastest design.
///
/// Each size is evaluated like a candidate layer: builders run over the sampled runs, node counts are extrapolated by
/// the share sampled, and the step index complexity represents the layers above (AirIndex, Equation 9). If the sample
/// is complete, the best few sizes are then tuned in full.
///
/// # Errors
/// `Cause::Input` if the sample is invalid: no records, unsorted runs, or a record size that is not
/// positive and finite.
pub fn choose_block_size(sample: &TableSample, problem: &DesignProblem<'_>) -> Result<BlockSizeChoice> {
    choose(sample, problem, BLOCK_SIZE_LOG2)
}

/// Whether blocks of this size, a power of two, should end where separators compress best.
///
/// # Errors
/// As [`choose_block_size`].
pub(crate) fn choose_block_ends(sample: &TableSample, block_bytes: u32, problem: &DesignProblem<'_>) -> Result<bool> {
    let log2 = block_bytes.ilog2();
    Ok(choose(sample, problem, log2..=log2)?.ends_by_separator)
}

fn choose(
    sample: &TableSample,
    problem: &DesignProblem<'_>,
    sizes_log2: RangeInclusive<u32>,
) -> Result<BlockSizeChoice> {
    check(sample)?;
    let largest = 1 << sizes_log2.end();
    let mut trials: Vec<SizeTrial> = Vec::new();
    for size in sizes_log2.map(|log2| 1_u32 << log2) {
        let best_us = trials.iter().map(|trial| trial.cost_us).fold(f64::INFINITY, f64::min);
        trials.extend(estimate(sample, size, problem, best_us));
    }
    let Some(largest) = trials.last().map(|trial| trial.size) else {
        // Records larger than any block, or too many records for small blocks: the largest size.
        let considered = vec![(largest, f64::INFINITY)];
        return Ok(BlockSizeChoice { block_size_bytes: largest, ends_by_separator: true, considered });
    };
    if sample.is_whole() {
        refine(sample, problem, &mut trials);
    }
    let best_us = trials.iter().map(|trial| trial.cost_us).fold(f64::INFINITY, f64::min);
    let floor_us = problem.least_opening_us() + problem.single_read_us(0, BLOCK_BYTES_MIN);
    let limit_us = best_us + (best_us - floor_us).max(0.0) * (COST_TOLERANCE_RATIO - 1.0);
    let near = trials.iter().rev().find(|trial| trial.cost_us <= limit_us);
    // Costs are estimates: the usual size is left only for a gain that is larger than their error.
    let usual = trials.iter().find(|trial| trial.size == USUAL_BLOCK_BYTES);
    let near = usual.filter(|trial| trial.cost_us <= best_us * ESTIMATE_ERROR_RATIO).or(near);
    Ok(BlockSizeChoice {
        block_size_bytes: near.map_or(largest, |trial| trial.size),
        ends_by_separator: near.is_some_and(|trial| trial.ends_by_separator),
        considered: trials.iter().map(|trial| (trial.size, trial.cost_us)).collect(),
    })
}

fn check(sample: &TableSample) -> Result<()> {
    let sampled: u64 = sample.runs.iter().map(|run| run.len() as u64).sum();
    if sampled == 0 || sampled > sample.records {
        let records = sample.records;
        return Err(Error::input(format!(
            "the sample holds {sampled} of {records} records; give at least one, at most all"
        )));
    }
    if !(sample.record_bytes > 0.0 && sample.record_bytes.is_finite()) {
        let bytes = sample.record_bytes;
        return Err(Error::input(format!("{bytes} is not a valid record size; give a positive number of bytes")));
    }
    if sample.runs.iter().any(|run| !run.is_sorted()) {
        return Err(Error::input("a run of the sample is not sorted; sort each"));
    }
    Ok(())
}

/// Keeps the best sizes, with the cost of the design that a search finds.
fn refine(sample: &TableSample, problem: &DesignProblem<'_>, trials: &mut Vec<SizeTrial>) {
    trials.sort_by(|a, b| a.cost_us.total_cmp(&b.cost_us));
    trials.truncate(REFINED_SIZES_MAX);
    trials.sort_by_key(|trial| trial.size);
    for trial in trials {
        let row = rows(sample, trial.size).and_then(|(mut rows, _)| rows.pop());
        let filled = row.map(|row| tune(&row, problem));
        let filled_us = filled.as_ref().map_or(f64::INFINITY, |design| design.objective_us(problem));
        let bottom = filled.as_ref().and_then(|design| design.layers.first());
        let all: Vec<&[u64]> = sample.runs.iter().map(Vec::as_slice).collect();
        let coded_us = coded_us(sample, &all, trial.size, problem).unwrap_or(f64::INFINITY);
        *trial = SizeTrial::new(trial.size, filled_us, bottom.map(|layer| layer.builder), coded_us);
    }
}

/// The runs as level inputs of blocks of `size` bytes, and the number of such blocks in the whole; `None` if a block
/// holds no record or there would be too many blocks.
fn rows(sample: &TableSample, size: u32) -> Option<(Vec<LevelInput>, f64)> {
    let room = u64::from(size).checked_sub(sample.block_overhead_bytes)? as f64;
    let records = (room / sample.record_bytes) as usize;
    let children = (sample.records as f64 / records as f64).ceil();
    if records == 0 || children > CHILDREN_MAX {
        return None;
    }
    let row = |run: &Vec<u64>| {
        let border = |at: usize| Fence { low: run[at - 1], high: run[at] };
        let fences = (1..run.len().div_ceil(records)).map(|block| border(block * records)).collect();
        Some(LevelInput { first: *run.first()?, fences, child_bytes: u64::from(size), weights: None })
    };
    Some((sample.runs.iter().filter_map(row).collect(), children))
}

/// The best design over blocks of this size, estimated from the sample; `None` if the size cannot win.
fn estimate(sample: &TableSample, size: u32, problem: &DesignProblem<'_>, best_us: f64) -> Option<SizeTrial> {
    let (rows, children) = rows(sample, size)?;
    let child_bytes = u64::from(size);
    let one_block_us = problem.least_opening_us() + problem.single_read_us(0, child_bytes);
    // No design can read a part of a block.
    if one_block_us > best_us {
        return None;
    }
    let vertex = SearchNode {
        depth: 0,
        children: children as u64,
        child_bytes,
        weighted: false,
        spent_us: 0.0,
        path: Vec::new(),
        path_bytes: 0,
    };
    let data_bytes = (children * f64::from(size)) as u64;
    let whole_us = if problem.opening_holds_data {
        problem.open_us(data_bytes)
    } else {
        problem.least_opening_us() + problem.single_read_us(0, data_bytes)
    };
    let views = CoarseViews::over_runs(&rows, children, problem.options.lambda_high_bytes / child_bytes);
    let bound = Some(problem.score(whole_us, 0));
    let ranked = rank(&vertex, &CandidateSource::Judged(&views), problem, bound, problem.options.threads);
    let best = ranked.first().filter(|best| best.promised_us < whole_us);
    let filled_us = best.map_or(whole_us, |best| best.promised_us);
    let coded_us = coded_us(sample, &sample.trial(), size, problem).unwrap_or(f64::INFINITY);
    Some(SizeTrial::new(size, filled_us, best.map(|best| best.candidate.builder), coded_us))
}

/// Lookup cost if blocks end where their separators compress best, and the separators are the bottom layer: by trial on
/// some representative `runs`, or on all of the sample.
fn coded_us(sample: &TableSample, runs: &[&[u64]], size: u32, problem: &DesignProblem<'_>) -> Option<f64> {
    if !problem.options.builders.contains(&LayerBuilderKind::Coded) {
        return None;
    }
    let room = u64::from(size).checked_sub(sample.block_overhead_bytes)? as f64;
    let capacity = (room / sample.record_bytes) as usize;
    let most = if sample.is_whole() && runs.len() == 1 { usize::MAX } else { TRIAL_BLOCKS_MAX / runs.len().max(1) };
    let mut coded = CodedTrial::default();
    for keys in runs {
        coded.cut(&EvenCuts { keys, capacity }, most);
    }
    let children = (sample.records as f64 * coded.blocks as f64 / coded.records.max(1) as f64).ceil();
    if capacity < 2 || children > CHILDREN_MAX {
        return None;
    }
    let root_bytes = INDEX_PAGE_HEADER_BYTES + (coded.bytes as f64 * children / coded.blocks.max(1) as f64) as u64;
    let read_us = problem.single_read_us(0, u64::from(size));
    let as_root_us = problem.open_us(root_bytes);
    let best_us = if problem.fits_budget(root_bytes) { as_root_us } else { f64::INFINITY };
    Some(read_us + best_us.min(problem.remaining_us(1, root_bytes)))
}

/// The result of cutting and coding some runs.
#[derive(Debug, Default)]
struct CodedTrial {
    blocks: u64,
    records: usize,
    bytes: usize,
}

impl CodedTrial {
    /// Cuts up to about `most` blocks and codes their separators.
    fn cut(&mut self, cuts: &EvenCuts<'_>, most: usize) {
        let mut layer = CodedLayer::new();
        let (mut begin, mut last_begin) = (0, 0);
        let mut start = cuts.keys.first().copied().unwrap_or(0);
        while begin < cuts.keys.len() && layer.children() < most as u64 {
            let group = fit_flexible(start, begin, cuts, GROUP_CHILDREN_MAX, Effort::Full);
            let last = group.begins.last().copied().unwrap_or(begin);
            layer.push(group.header, group.residuals);
            last_begin = begin;
            begin = (last + cuts.capacity).min(cuts.keys.len());
            start = cuts.keys.get(begin).copied().unwrap_or(u64::MAX);
        }
        // A group truncated by the end of the run costs more per block than those of the whole will.
        let whole = if begin < cuts.keys.len() || layer.groups() < 2 { layer.groups() } else { layer.groups() - 1 };
        self.bytes += layer.encoded_len(0..whole);
        self.blocks += if whole < layer.groups() { layer.first_child(whole) } else { layer.children() };
        self.records += if whole < layer.groups() { last_begin } else { begin };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::io::Profile;

    /// Keys whose steps vary by a factor of a thousand, in an order that no line fits.
    fn keys(count: u64) -> Vec<u64> {
        let step = |i: u64| 1 + (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54);
        (0..count).scan(0, |at, i| Some(std::mem::replace(at, *at + step(i)))).collect()
    }

    fn sample(keys: &[u64], runs: usize, share: usize) -> TableSample {
        let length = keys.len() / runs;
        let run = |i: usize| keys[i * length..][..length / share].to_vec();
        TableSample {
            runs: (0..runs).map(run).collect(),
            records: keys.len() as u64,
            record_bytes: 16.0,
            block_overhead_bytes: 8,
        }
    }

    #[test]
    fn a_sample_chooses_as_well_as_everything_does() -> Result<()> {
        let keys = keys(400_000);
        for name in Profile::names() {
            let profile = Profile::named(name)?;
            let problem = DesignProblem::new(&profile);
            let sampled = choose_block_size(&sample(&keys, 8, 4), &problem)?;
            let everything = sample(&keys, 1, 1);
            let cost_us = |size| {
                let row = rows(&everything, size).and_then(|(mut rows, _)| rows.pop());
                row.map_or(f64::INFINITY, |row| tune(&row, &problem).cost.total_us)
            };
            let exact = choose_block_size(&everything, &problem)?;
            let best_us = BLOCK_SIZE_LOG2.map(|log2| cost_us(1 << log2)).fold(f64::INFINITY, f64::min);
            for choice in [sampled, exact] {
                let chosen_us = cost_us(choice.block_size_bytes);
                let ideal_us = profile.time_us(0) + profile.time_us(512);
                assert!(
                    chosen_us - ideal_us <= (best_us - ideal_us) * 1.25,
                    "{name}: {choice:?} costs {chosen_us} us, the best {best_us} us"
                );
            }
        }
        Ok(())
    }

    #[test]
    fn a_large_table_gets_no_more_blocks_than_fences_may_take_memory() -> Result<()> {
        let profile = Profile::named("optane")?;
        let few = TableSample { records: 1 << 33, ..sample(&keys(10_000), 2, 1) };
        let choice = choose_block_size(&few, &DesignProblem::new(&profile))?;
        let smallest = choice.considered.iter().map(|&(size, _)| size).min();
        assert_eq!(smallest, Some(1 << 17), "2^33 records of 16 bytes in at most 2^21 blocks");
        Ok(())
    }

    #[test]
    fn records_larger_than_every_block_get_the_largest() -> Result<()> {
        let profile = Profile::named("ssd")?;
        let wide = TableSample { record_bytes: 3e6, ..sample(&keys(100), 1, 1) };
        assert_eq!(choose_block_size(&wide, &DesignProblem::new(&profile))?.block_size_bytes, 1 << 20);
        Ok(())
    }

    #[test]
    fn a_sample_without_sense_is_refused() -> Result<()> {
        let profile = Profile::named("ssd")?;
        let good = sample(&keys(100), 1, 1);
        let cases = [
            TableSample::default(),
            TableSample { records: 99, ..good.clone() },
            TableSample { record_bytes: f64::NAN, ..good.clone() },
            TableSample { record_bytes: 0.0, ..good.clone() },
            TableSample { runs: vec![vec![3, 2]], ..good },
        ];
        for case in cases {
            let refused = choose_block_size(&case, &DesignProblem::new(&profile));
            assert!(matches!(refused, Err(Error { cause: Cause::Input, .. })), "{case:?}");
        }
        Ok(())
    }
}
