//! The partition plan: which relation stays in memory, which is scattered, and the number of buckets.

use super::borders::BucketBorders;
use super::dense::DenseBucketRows;
use super::general::{FRAME_BYTES, GeneralBucketRows};
use super::model::KeyDistribution;
use super::relation::PartitionedRelation;
use super::sample::KeySample;
use super::scatter::Scatter;
use crate::error::Result;
use crate::io::Profile;
use crate::join::input::sorted::{self, for_width, input_bytes};
use crate::join::rows::relation::Relation;
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::Spill;
use crate::join::rows::task::TimedPhase;
use std::sync::Arc;

/// Target size of a bucket, in bytes: it is sorted within a core's second-level cache, working memory included.
const BUCKET_BYTES: u64 = 384 << 10;
/// Smallest write, in bytes: below it, requests cost more than bytes on any device.
const FLUSH_BYTES_MIN: u64 = 16 << 10;
/// Largest write, in bytes.
const FLUSH_BYTES_MAX: u64 = 1 << 20;
/// Most buckets: more would exceed the reach of a core's TLB.
const BUCKETS_MAX: u64 = 4096;
/// Sampled keys per bucket: with a relative deviation of 1/16, so that bucket sizes vary about as little.
const SAMPLES_PER_BUCKET: u64 = 256;
/// The model's error in rank is at most 1/16 of a bucket.
const ERROR_DIVISOR: u64 = 16;
/// A sample takes at most 1/16 of the memory.
const SAMPLE_DIVISOR: u64 = 16;
/// Lists of chunks take at most 1/16 of the memory; two of them and all buffers leave 1/16 to the input.
const LIST_DIVISOR: u64 = 16;

/// The number of buckets, and the size of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScatterPlan {
    buckets: usize,
    flush_bytes: usize,
}

impl ScatterPlan {
    /// A plan to scatter `bytes` within `memory_bytes`, to be read within `scan_bytes`.
    fn new(bytes: u64, memory_bytes: u64, scan_bytes: u64, profile: &Profile) -> Self {
        // Half for a bucket, a quarter for sorting, a quarter for oversized buckets.
        let target = BUCKET_BYTES.min(scan_bytes / 2).max(FLUSH_BYTES_MIN);
        let buffers_bytes = memory_bytes / 4 * 3;
        let wanted = bytes.div_ceil(target).clamp(1, BUCKETS_MAX);
        let flush_bytes = flush_bytes(profile).min(buffers_bytes / wanted).min(target).max(FLUSH_BYTES_MIN);
        let buckets = wanted.min(buffers_bytes / flush_bytes).max(1);
        Self { buckets: buckets as usize, flush_bytes: flush_bytes as usize }
    }
}

/// The smallest request at which a device reaches half of its best rate, in bytes.
pub(crate) fn flush_bytes(profile: &Profile) -> u64 {
    let rate = |bytes: u64| bytes as f64 / profile.time_us(bytes).max(f64::MIN_POSITIVE);
    let mut bytes = FLUSH_BYTES_MIN;
    while bytes < FLUSH_BYTES_MAX && rate(bytes) < rate(16 * FLUSH_BYTES_MAX) / 2.0 {
        bytes *= 2;
    }
    bytes
}

impl ScatterPlan {
    /// Whether the lists of chunks fit beside the buffers and the input.
    fn fits(self, bytes: u64, memory_bytes: u64) -> bool {
        Scatter::list_bytes(bytes, self.flush_bytes) <= memory_bytes / LIST_DIVISOR
    }
}

/// An input relation, and its sorted copy once it exists.
struct PartitionInput<'a> {
    relation: &'a Arc<dyn Relation>,
    rows: u64,
    bytes: u64,
    sorted_copy: Option<Arc<dyn Relation>>,
}

impl<'a> PartitionInput<'a> {
    fn new(relation: &'a Arc<dyn Relation>) -> Self {
        let facts = relation.facts();
        let sorted_copy = facts.is_sorted.then(|| Arc::clone(relation));
        let width = facts.key_bytes.zip(facts.value_bytes).map(|(key, value)| (key + value) as u64);
        let framed_bytes = (FRAME_BYTES as u64).saturating_mul(facts.rows).saturating_add(facts.bytes);
        let bytes = width.map_or(framed_bytes, |width| width.saturating_mul(facts.rows));
        Self { relation, rows: facts.rows, bytes, sorted_copy }
    }

    fn needs_scatter(&self) -> bool {
        self.sorted_copy.is_none()
    }
}

/// Builds sorted copies of those of two relations that are unsorted. Building takes `memory_bytes` of the remaining
/// budget; each scan of a copy will get about `scan_bytes`.
///
/// # Errors
/// Errors of the relations and the spill storage; [`crate::Cause::JoinMemory`] if memory is short;
/// [`crate::Cause::Interrupted`].
pub(crate) fn sorted_copies(
    relations: [&Arc<dyn Relation>; 2],
    spill: &Arc<Spill>,
    memory_bytes: u64,
    scan_bytes: u64,
) -> Result<[Arc<dyn Relation>; 2]> {
    let mut sides = relations.map(PartitionInput::new);
    let rows = sides.iter().filter(|side| side.needs_scatter()).map(|side| side.rows).sum();
    let mut progress = SortProgress::new(spill.task(), rows);
    let mut memory_bytes = memory_bytes;
    sort_in_memory_if_fits(&mut sides, spill, &mut memory_bytes, scan_bytes, &mut progress)?;
    if sides.iter().any(PartitionInput::needs_scatter) {
        let (borders, plan) = learn(&mut sides, spill, memory_bytes, scan_bytes)?;
        for side in sides.iter_mut().filter(|side| side.needs_scatter()) {
            let sorted_copy = if plan.fits(side.bytes, memory_bytes) {
                scatter(&**side.relation, &borders, plan.flush_bytes, spill, memory_bytes, &mut progress)?
            } else {
                // With so little memory, scattering would take several passes; merging takes fewer.
                let memory_bytes = memory_bytes.min(spill.task().budget.left_bytes());
                sorted::sorted_copy(side.relation, spill, memory_bytes, scan_bytes, &mut progress)?
            };
            side.sorted_copy = Some(sorted_copy);
        }
    }
    Ok(sides.map(|side| side.sorted_copy.unwrap_or_else(|| Arc::clone(side.relation))))
}

/// Sorts relations in memory that take at most half of it, the smaller one first.
fn sort_in_memory_if_fits(
    sides: &mut [PartitionInput<'_>; 2],
    spill: &Arc<Spill>,
    memory_bytes: &mut u64,
    scan_bytes: u64,
    progress: &mut SortProgress,
) -> Result<()> {
    let mut order = [0, 1];
    order.sort_by_key(|&side| sides[side].bytes);
    for side in order {
        let side = &mut sides[side];
        if side.needs_scatter() && side.relation.facts().is_exact && side.bytes <= *memory_bytes / 2 {
            side.sorted_copy = Some(sorted::sorted_copy(side.relation, spill, *memory_bytes, scan_bytes, progress)?);
            // A sort may keep more than the rows.
            *memory_bytes = (*memory_bytes - side.bytes).min(spill.task().budget.left_bytes());
        }
    }
    Ok(())
}

/// Samples the relations to be scattered, and learns their key distribution.
fn learn(
    sides: &mut [PartitionInput<'_>; 2],
    spill: &Arc<Spill>,
    memory_bytes: u64,
    scan_bytes: u64,
) -> Result<(Arc<BucketBorders>, ScatterPlan)> {
    let task = spill.task();
    let largest = |sides: &[PartitionInput<'_>; 2]| {
        sides.iter().filter(|side| side.needs_scatter()).map(|side| side.bytes).max().unwrap_or(0)
    };
    let plan = |sides: &_| ScatterPlan::new(largest(sides), memory_bytes, scan_bytes, &task.profile);
    let wanted = plan(sides).buckets as u64 * SAMPLES_PER_BUCKET;
    let widths = || sides.iter().filter(|side| side.needs_scatter()).map(|side| side.relation.facts().key_bytes);
    // If only one relation has a fixed key width, keys are treated as variable.
    let width = widths().max().flatten().filter(|_| widths().all(|width| width.is_some()));
    // Each sampled key is stored with its prefix.
    let key_bytes = width.unwrap_or(64).clamp(1, 64) as u64;
    let part = memory_bytes / SAMPLE_DIVISOR;
    let sampled = (part / (key_bytes + 8)).min(wanted).max(1);
    let mut sample = KeySample::new(width, task.budget.take(sampled * key_bytes, "a sample")?);
    let _numbers = task.budget.take(sampled * 8, "a sample")?;
    let rows: u64 = sides.iter().filter(|side| side.needs_scatter()).map(|side| side.rows).sum();
    for side in sides.iter_mut().filter(|side| side.needs_scatter()) {
        let wanted = (u128::from(sampled) * u128::from(side.rows) / u128::from(rows.max(1))) as usize;
        let memory = task.budget.take(input_bytes(memory_bytes), "reading a sample")?;
        let drawn = sample.draw(&**side.relation, wanted.max(1), task, memory)?;
        if let Some((rows, bytes)) = drawn.counted {
            side.rows = rows;
            side.bytes = bytes + FRAME_BYTES as u64 * rows;
        }
    }
    let plan = plan(sides);
    let borders = task.timed(TimedPhase::Loading, || {
        let (window, numbers) = sample.numbers();
        let error = numbers.len() as f64 / plan.buckets as f64 / ERROR_DIVISOR as f64;
        let distribution = KeyDistribution::learn(&numbers, plan.buckets, error);
        (window, distribution)
    });
    let (window, distribution) = borders;
    let memory = task.budget.take(distribution.memory_bytes() as u64, "a model of the keys")?;
    Ok((Arc::new(BucketBorders::new(window, distribution, memory)), plan))
}

/// Reads a relation and writes it to the buckets.
fn scatter(
    relation: &dyn Relation,
    borders: &Arc<BucketBorders>,
    flush_bytes: usize,
    spill: &Arc<Spill>,
    memory_bytes: u64,
    progress: &mut SortProgress,
) -> Result<Arc<dyn Relation>> {
    let buckets = borders.distribution.buckets();
    let facts = relation.facts();
    let width = facts.key_bytes.zip(facts.value_bytes).map_or(0, |(key, value)| key + value);
    let input_bytes = input_bytes(memory_bytes);
    for_width!(
        width,
        N => {
            let scatter = Scatter::create(spill, buckets, flush_bytes / N * N)?;
            let fill = PartitionedRelation::<DenseBucketRows<N>>::fill;
            Ok(Arc::new(fill(relation, borders, scatter, spill, input_bytes, progress)?))
        },
        else {
            let scatter = Scatter::create(spill, buckets, flush_bytes)?;
            let fill = PartitionedRelation::<GeneralBucketRows>::fill;
            Ok(Arc::new(fill(relation, borders, scatter, spill, input_bytes, progress)?))
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_all_buckets_fit_memory_whatever_the_sizes() {
        for profile in Profile::names().map(|name| Profile::named(name).unwrap()) {
            for bytes in [0, 1, 1 << 20, 320_000_000, 1 << 40] {
                for memory_bytes in [256 << 10, 1 << 20, 16 << 20, 300 << 20, 1 << 36] {
                    let plan = ScatterPlan::new(bytes, memory_bytes, memory_bytes / 4, &profile);
                    let name = profile.name();
                    assert!(plan.flush_bytes as u64 >= FLUSH_BYTES_MIN && plan.buckets >= 1, "{name}: {plan:?}");
                    let taken = Scatter::memory_bytes(plan.buckets, plan.flush_bytes);
                    assert!(taken <= memory_bytes, "{name}, {bytes} bytes: {plan:?} takes {taken} of {memory_bytes}");
                }
            }
        }
    }
}
