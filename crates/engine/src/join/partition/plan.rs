//! The partition plan: which relation stays in memory, which is scattered, and the number of buckets.

use super::dense::DensePartition;
use super::general::GeneralPartition;
use super::model::Distribution;
use super::sample::Sample;
use super::scatter::Scatter;
use super::window::Window;
use crate::error::Result;
use crate::io::Profile;
use crate::join::sorted::{self, Progress, for_width, input_bytes};
use crate::join::source::Relation;
use crate::join::spill::Spill;
use crate::join::task::{Share, Spent};
use std::sync::Arc;

/// Buckets of about so many bytes are sorted within the second-level cache of a core, working memory included.
const BUCKET_BYTES: u64 = 384 << 10;
/// Least that is written at a time: below, requests cost more than bytes on any device.
const FLUSH_BYTES_MIN: u64 = 16 << 10;
/// Most that is written at a time.
const FLUSH_BYTES_MAX: u64 = 1 << 20;
/// More buckets than these exceed what the address caches of a core reach.
const BUCKETS_MAX: u64 = 4096;
/// Sampled keys for each bucket: their number varies by a sixteenth, so that buckets do about so.
const SAMPLES_A_BUCKET: u64 = 256;
/// The model may miss the rank of a sampled key by this part of a bucket.
const ERROR_PART: u64 = 16;
/// A sample takes at most this part of memory.
const SAMPLE_PART: u64 = 16;
/// Lists of chunks take at most this part of memory; two of them and all buffers leave a sixteenth of it to the input.
const LIST_PART: u64 = 16;
/// Rows of any length take so many bytes beside their own.
const FRAME_BYTES: u64 = 8;

/// What all buckets of a join share.
#[derive(Debug)]
pub(super) struct Borders {
    pub(super) window: Window,
    pub(super) distribution: Distribution,
    _memory: Share,
}

impl Borders {
    #[inline]
    pub(super) fn bucket(&self, key: &[u8]) -> usize {
        self.distribution.bucket(self.window.coordinate(key))
    }
}

/// How many buckets, and how many bytes are written at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    buckets: usize,
    flush_bytes: usize,
}

impl Plan {
    /// For a relation of so many bytes, scattered within `memory_bytes`, to be read within `scan_bytes`.
    fn new(bytes: u64, memory_bytes: u64, scan_bytes: u64, profile: &Profile) -> Self {
        // Half is for a bucket, a quarter for sorting, a quarter for buckets that turn out larger.
        let target = BUCKET_BYTES.min(scan_bytes / 2).max(FLUSH_BYTES_MIN);
        let buffers_bytes = memory_bytes / 4 * 3;
        let wanted = bytes.div_ceil(target).clamp(1, BUCKETS_MAX);
        let flush_bytes = flush_bytes(profile).min(buffers_bytes / wanted).min(target).max(FLUSH_BYTES_MIN);
        let buckets = wanted.min(buffers_bytes / flush_bytes).max(1);
        Self { buckets: buckets as usize, flush_bytes: flush_bytes as usize }
    }
}

/// The fewest bytes that a device reads at half of its best rate at least.
pub(crate) fn flush_bytes(profile: &Profile) -> u64 {
    let rate = |bytes: u64| bytes as f64 / profile.time_us(bytes).max(f64::MIN_POSITIVE);
    let mut bytes = FLUSH_BYTES_MIN;
    while bytes < FLUSH_BYTES_MAX && rate(bytes) < rate(16 * FLUSH_BYTES_MAX) / 2.0 {
        bytes *= 2;
    }
    bytes
}

impl Plan {
    /// Whether the lists of what is scattered fit beside the buffers and what reads the input.
    fn fits(self, bytes: u64, memory_bytes: u64) -> bool {
        Scatter::list_bytes(bytes, self.flush_bytes) <= memory_bytes / LIST_PART
    }
}

/// One of the relations on its way.
struct Side<'a> {
    relation: &'a Arc<dyn Relation>,
    rows: u64,
    bytes: u64,
    arranged: Option<Arc<dyn Relation>>,
}

impl<'a> Side<'a> {
    fn new(relation: &'a Arc<dyn Relation>) -> Self {
        let facts = relation.facts();
        let arranged = facts.is_sorted.then(|| Arc::clone(relation));
        let width = facts.key_bytes.zip(facts.value_bytes).map(|(key, value)| (key + value) as u64);
        let bytes = width.map_or(facts.bytes + FRAME_BYTES * facts.rows, |width| width * facts.rows);
        Self { relation, rows: facts.rows, bytes, arranged }
    }

    fn is_to_scatter(&self) -> bool {
        self.arranged.is_none()
    }
}

/// Copies in key order of two relations, of those that are not sorted yet. To make them, `memory_bytes` of what is left are used; scans of them
/// are to get about `scan_bytes` each.
///
/// # Errors
/// Those of the relations and of the storage of spill files; [`crate::Error::InvalidArgument`] where memory is short;
/// [`crate::Error::Interrupted`].
pub(crate) fn arrange(
    relations: [&Arc<dyn Relation>; 2],
    spill: &Arc<Spill>,
    memory_bytes: u64,
    scan_bytes: u64,
) -> Result<[Arc<dyn Relation>; 2]> {
    let mut sides = relations.map(Side::new);
    let rows = sides.iter().filter(|side| side.is_to_scatter()).map(|side| side.rows).sum();
    let mut progress = Progress::new(spill.task(), rows);
    let mut memory_bytes = memory_bytes;
    hold_what_fits(&mut sides, spill, &mut memory_bytes, scan_bytes, &mut progress)?;
    if sides.iter().any(Side::is_to_scatter) {
        let (borders, plan) = learn(&mut sides, spill, memory_bytes, scan_bytes)?;
        for side in sides.iter_mut().filter(|side| side.is_to_scatter()) {
            let arranged = if plan.fits(side.bytes, memory_bytes) {
                scatter(&**side.relation, &borders, plan.flush_bytes, spill, memory_bytes, &mut progress)?
            } else {
                // So much for so little memory would need more than one pass of scattering; merging takes fewer.
                let memory_bytes = memory_bytes.min(spill.task().budget.left_bytes());
                sorted::arrange(side.relation, spill, memory_bytes, scan_bytes, &mut progress)?
            };
            side.arranged = Some(arranged);
        }
    }
    Ok(sides.map(|side| side.arranged.unwrap_or_else(|| Arc::clone(side.relation))))
}

/// Sorts in memory what takes no more than half of it, the smaller relation first.
fn hold_what_fits(
    sides: &mut [Side<'_>; 2],
    spill: &Arc<Spill>,
    memory_bytes: &mut u64,
    scan_bytes: u64,
    progress: &mut Progress,
) -> Result<()> {
    let mut order = [0, 1];
    order.sort_by_key(|&side| sides[side].bytes);
    for side in order {
        let side = &mut sides[side];
        if side.is_to_scatter() && side.relation.facts().is_exact && side.bytes <= *memory_bytes / 2 {
            side.arranged = Some(sorted::arrange(side.relation, spill, *memory_bytes, scan_bytes, progress)?);
            *memory_bytes -= side.bytes;
        }
    }
    Ok(())
}

/// Draws samples of what is to be scattered, and learns from them.
fn learn(
    sides: &mut [Side<'_>; 2],
    spill: &Arc<Spill>,
    memory_bytes: u64,
    scan_bytes: u64,
) -> Result<(Arc<Borders>, Plan)> {
    let task = spill.task();
    let largest = |sides: &[Side<'_>; 2]| {
        sides.iter().filter(|side| side.is_to_scatter()).map(|side| side.bytes).max().unwrap_or(0)
    };
    let plan = |sides: &_| Plan::new(largest(sides), memory_bytes, scan_bytes, &task.profile);
    let wanted = plan(sides).buckets as u64 * SAMPLES_A_BUCKET;
    let widths = || sides.iter().filter(|side| side.is_to_scatter()).map(|side| side.relation.facts().key_bytes);
    // Where only one of them has a width, keys are of any.
    let width = widths().max().flatten().filter(|_| widths().all(|width| width.is_some()));
    // Beside each key, its number.
    let key_bytes = width.unwrap_or(64).clamp(1, 64) as u64;
    let part = memory_bytes / SAMPLE_PART;
    let sampled = (part / (key_bytes + 8)).min(wanted).max(1);
    let mut sample = Sample::new(width, task.budget.take(sampled * key_bytes, "a sample")?);
    let _numbers = task.budget.take(sampled * 8, "a sample")?;
    let rows: u64 = sides.iter().filter(|side| side.is_to_scatter()).map(|side| side.rows).sum();
    for side in sides.iter_mut().filter(|side| side.is_to_scatter()) {
        let wanted = (u128::from(sampled) * u128::from(side.rows) / u128::from(rows.max(1))) as usize;
        let memory = task.budget.take(input_bytes(memory_bytes), "reading a sample")?;
        let drawn = sample.draw(&**side.relation, wanted.max(1), task, memory)?;
        if let Some((rows, bytes)) = drawn.counted {
            side.rows = rows;
            side.bytes = bytes + FRAME_BYTES * rows;
        }
    }
    let plan = plan(sides);
    let borders = task.spend(Spent::Loading, || {
        let (window, numbers) = sample.numbers();
        let error = numbers.len() as f64 / plan.buckets as f64 / ERROR_PART as f64;
        let distribution = Distribution::learn(&numbers, plan.buckets, error);
        (window, distribution)
    });
    let (window, distribution) = borders;
    let memory = task.budget.take(distribution.memory_bytes() as u64, "a model of the keys")?;
    Ok((Arc::new(Borders { window, distribution, _memory: memory }), plan))
}

/// Reads a relation and writes it to its buckets.
fn scatter(
    relation: &dyn Relation,
    borders: &Arc<Borders>,
    flush_bytes: usize,
    spill: &Arc<Spill>,
    memory_bytes: u64,
    progress: &mut Progress,
) -> Result<Arc<dyn Relation>> {
    let buckets = borders.distribution.buckets();
    let facts = relation.facts();
    let width = facts.key_bytes.zip(facts.value_bytes).map_or(0, |(key, value)| key + value);
    let input_bytes = input_bytes(memory_bytes);
    for_width!(
        width,
        N => {
            let scatter = Scatter::create(spill, buckets, flush_bytes / N * N)?;
            Ok(Arc::new(DensePartition::<N>::fill(relation, borders, scatter, spill, input_bytes, progress)?))
        },
        else {
            let scatter = Scatter::create(spill, buckets, flush_bytes)?;
            Ok(Arc::new(GeneralPartition::fill(relation, borders, scatter, spill, input_bytes, progress)?))
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
                    let plan = Plan::new(bytes, memory_bytes, memory_bytes / 4, &profile);
                    let name = profile.name();
                    assert!(plan.flush_bytes as u64 >= FLUSH_BYTES_MIN && plan.buckets >= 1, "{name}: {plan:?}");
                    let taken = Scatter::memory_bytes(plan.buckets, plan.flush_bytes);
                    assert!(taken <= memory_bytes, "{name}, {bytes} bytes: {plan:?} takes {taken} of {memory_bytes}");
                }
            }
        }
    }
}
