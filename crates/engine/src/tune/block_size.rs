//! The size of data blocks as part of the design.

use super::candidate::Glasses;
use super::problem::Problem;
use super::row::Row;
use super::search::{Scale, Vertex, rank, tune};
use crate::error::{Error, Result};
use ogive_model::Fence;
use std::ops::RangeInclusive;

/// Smallest and largest block size, as powers of two: 512 B to 1 MiB.
const BLOCK_SIZE_LOG2: RangeInclusive<u32> = 9..=20;
/// Most data blocks, so that their fences take at most 32 MiB: of a larger table, small blocks are not considered.
const MOST_CHILDREN: f64 = (1 << 21) as f64;
/// The largest block size whose cost is this near to the best is taken: fewer blocks have fewer headers and checksums.
const INDIFFERENCE: f64 = 1.002;
/// Where the sample is everything, so many sizes are tuned in earnest.
const FINALISTS: usize = 3;

/// What is known of the data before blocks are cut: stretches of neighbouring records, evenly taken from the whole.
///
/// A sample that holds all records in one stretch is the exact case.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Coordinates of neighbouring records, sorted, for each stretch.
    pub stretches: Vec<Vec<u64>>,
    /// Records of the whole input.
    pub records: u64,
    /// Mean stored bytes of a record.
    pub record_bytes: f64,
    /// Bytes of a block that hold no record.
    pub block_overhead_bytes: u64,
}

/// The chosen block size, and what each size considered would cost.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSizeChoice {
    /// Size of a data block in bytes, a power of two.
    pub block_size_bytes: u32,
    /// Size in bytes and expected cost of a look-up in microseconds, for each size that was considered.
    pub considered: Vec<(u32, f64)>,
}

/// Chooses the block size under which the best design found is fastest.
///
/// Each size is judged as a candidate layer is: builders run over the sampled stretches, node counts are extrapolated
/// by the share sampled, and the step index complexity stands for the layers above (AirIndex, Equation 9). Where the sample is
/// everything, the best few sizes are then tuned in earnest.
///
/// # Errors
/// [`Error::InvalidArgument`] when the sample makes no sense: no records, unsorted stretches, a record size that is not
/// positive and finite.
pub fn choose_block_size(sample: &Sample, problem: &Problem<'_>) -> Result<BlockSizeChoice> {
    check(sample)?;
    let sizes = BLOCK_SIZE_LOG2.map(|log2| 1_u32 << log2);
    let mut considered: Vec<(u32, f64)> =
        sizes.filter_map(|size| Some((size, estimate(sample, size, problem)?))).collect();
    if considered.is_empty() {
        // Records larger than any block, or more of them than small blocks are allowed for: the largest there is.
        let largest = 1 << BLOCK_SIZE_LOG2.end();
        return Ok(BlockSizeChoice { block_size_bytes: largest, considered: vec![(largest, f64::INFINITY)] });
    }
    if let [all] = sample.stretches.as_slice()
        && all.len() as u64 == sample.records
    {
        refine(sample, problem, &mut considered);
    }
    let best_us = considered.iter().map(|&(_, cost_us)| cost_us).fold(f64::INFINITY, f64::min);
    let near = considered.iter().rev().find(|&&(_, cost_us)| cost_us <= best_us * INDIFFERENCE);
    Ok(BlockSizeChoice { block_size_bytes: near.map_or(4096, |&(size, _)| size), considered })
}

fn check(sample: &Sample) -> Result<()> {
    let sampled: u64 = sample.stretches.iter().map(|stretch| stretch.len() as u64).sum();
    if sampled == 0 || sampled > sample.records {
        let records = sample.records;
        return Err(Error::InvalidArgument(format!(
            "the sample holds {sampled} of {records} records; give at least one, at most all"
        )));
    }
    if !(sample.record_bytes > 0.0 && sample.record_bytes.is_finite()) {
        let bytes = sample.record_bytes;
        return Err(Error::InvalidArgument(format!("a record of {bytes} bytes makes no sense; give a positive size")));
    }
    if sample.stretches.iter().any(|stretch| !stretch.is_sorted()) {
        return Err(Error::InvalidArgument("a stretch of the sample is not sorted; sort each".to_owned()));
    }
    Ok(())
}

/// Keeps the best sizes, with the cost of the design that a search finds.
fn refine(sample: &Sample, problem: &Problem<'_>, considered: &mut Vec<(u32, f64)>) {
    considered.sort_by(|a, b| a.1.total_cmp(&b.1));
    considered.truncate(FINALISTS);
    considered.sort_by_key(|&(size, _)| size);
    for (size, cost_us) in considered {
        if let Some(row) = rows(sample, *size).and_then(|(mut rows, _)| rows.pop()) {
            *cost_us = tune(&row, problem).cost.total_us;
        }
    }
}

/// The stretches as rows of blocks of `size` bytes, and the number of such blocks in the whole; `None` where a block
/// holds no record or there would be too many of them.
fn rows(sample: &Sample, size: u32) -> Option<(Vec<Row>, f64)> {
    let room = u64::from(size).checked_sub(sample.block_overhead_bytes)? as f64;
    let records = (room / sample.record_bytes) as usize;
    let children = (sample.records as f64 / records as f64).ceil();
    if records == 0 || children > MOST_CHILDREN {
        return None;
    }
    let row = |stretch: &Vec<u64>| {
        let border = |at: usize| Fence { low: stretch[at - 1], high: stretch[at] };
        let fences = (1..stretch.len().div_ceil(records)).map(|block| border(block * records)).collect();
        Some(Row { first: *stretch.first()?, fences, child_bytes: u64::from(size), weights: None })
    };
    Some((sample.stretches.iter().filter_map(row).collect(), children))
}

/// Cost of the best design over blocks of this size, in microseconds, as far as the sample tells.
fn estimate(sample: &Sample, size: u32, problem: &Problem<'_>) -> Option<f64> {
    let (rows, children) = rows(sample, size)?;
    let child_bytes = u64::from(size);
    let vertex = Vertex { depth: 0, children: children as u64, child_bytes, weighted: false, spent_us: 0.0 };
    let data_bytes = (children * f64::from(size)) as u64;
    let whole_us = if problem.opening_holds_data {
        problem.opening_us(data_bytes, problem.profile)
    } else {
        problem.least_opening_us() + problem.single_read_us(0, data_bytes)
    };
    let glasses = Glasses::over_runs(&rows, children, problem.options.lambda_high_bytes / child_bytes);
    let bound = Some(problem.score(whole_us, 0));
    let ranked = rank(&vertex, &Scale::Judged(&glasses), problem, bound, problem.options.threads);
    Some(ranked.first().map_or(whole_us, |best| best.promised_us.min(whole_us)))
}
