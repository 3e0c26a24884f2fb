//! Building of layers: each builder turns a level input into an index layer.

use super::builder::LayerBuilder;
use super::layer::{DesignLayer, LayerNodes};
use super::level_input::LevelInput;
use super::parallel;
use super::search_options::DesignSearchOptions;
use ogive_model::coded::{self, CodedLayer, Effort};
use ogive_model::{FenceRun, band, pla, step};

impl LayerBuilder {
    /// Builds the layer on up to `options.threads` threads, one partition at a time.
    pub fn build(&self, row: &LevelInput, options: &DesignSearchOptions) -> DesignLayer {
        self.build_with(row, options, Effort::Full)
    }

    /// Builds the layer with a given effort for coded separators.
    pub(super) fn build_with(&self, row: &LevelInput, options: &DesignSearchOptions, effort: Effort) -> DesignLayer {
        let parts = row.children().div_ceil(options.partition_children.max(1) as u64) as usize;
        let nodes = match *self {
            Self::GStep { lambda_bytes, .. } => {
                let children = granule(lambda_bytes, row);
                LayerNodes::Step(over_parts(row, parts, options.threads, |run| step::greedy(run, children)))
            }
            Self::GBand { lambda_bytes } => {
                let window = granule(lambda_bytes, row);
                LayerNodes::Line(over_parts(row, parts, options.threads, |run| band::greedy(run, window)))
            }
            Self::EBand { lambda_bytes } => {
                let children = granule(lambda_bytes, row);
                LayerNodes::Line(over_parts(row, parts, options.threads, |run| band::equal(run, children)))
            }
            Self::Pla { error_children } => {
                LayerNodes::Line(over_parts(row, parts, options.threads, |run| pla::optimal(run, error_children)))
            }
            Self::Given { builder, values } => {
                LayerNodes::Line(over_parts(row, parts, options.threads, |run| (builder.build)(run, row, values)))
            }
            Self::Coded { lambda_bytes } => {
                let granule = granule(lambda_bytes, row);
                LayerNodes::Coded { layer: code(row, granule, parts, options.threads, effort), granule }
            }
        };
        DesignLayer { builder: *self, nodes, page_bytes: options.page_bytes, children: row.children() }
    }
}

/// Number of whole children in a granularity of `lambda_bytes`, at least one.
pub fn granule(lambda_bytes: u64, row: &LevelInput) -> u64 {
    (lambda_bytes / row.child_bytes.max(1)).max(1)
}

fn over_parts<T: Send>(
    row: &LevelInput,
    parts: usize,
    threads: usize,
    build: impl Fn(&FenceRun<'_>) -> Vec<T> + Sync,
) -> Vec<T> {
    let mut runs = FenceRun::split(&row.fences, parts);
    if let Some(first) = runs.first_mut() {
        first.start = row.first;
    }
    if let [run] = runs.as_slice() {
        return build(run);
    }
    parallel::map(threads, runs.len(), |i| build(&runs[i])).into_iter().flatten().collect()
}

/// Codes the separators in parts that end at whole granules.
fn code(row: &LevelInput, granule: u64, parts: usize, threads: usize, effort: Effort) -> CodedLayer {
    let granule = usize::try_from(granule).unwrap_or(usize::MAX);
    let each = (row.fences.len() / parts.max(1) / granule).saturating_mul(granule);
    // A fence that no key crosses (a tie at u64::MAX) ends the separators; only the sequential build stops there.
    let last_fence_crossed = row.fences.last().is_none_or(|fence| fence.start().is_some());
    if parts <= 1 || each == 0 || !last_fence_crossed {
        return coded::encode_row(row.first, &row.fences, granule, effort);
    }
    let coded = parallel::map(threads, parts, |part| {
        let from = part * each;
        let to = if part + 1 == parts { row.fences.len() } else { from + each - 1 };
        let start = if part == 0 { Some(row.first) } else { row.fences[from - 1].start() };
        coded::encode_row(start.unwrap_or(u64::MAX), &row.fences[from..to], granule, effort)
    });
    let mut whole = CodedLayer::new();
    coded.into_iter().for_each(|part| whole.append(part));
    whole
}

/// The granularities of the search in whole children: `low * growth^i` up to `high`, without duplicates.
///
/// Source: AirIndex, Section 5.2 (exponential granularities).
pub(super) fn granularities(child_bytes: u64, options: &DesignSearchOptions) -> Vec<u64> {
    let child_bytes = child_bytes.max(1);
    let growth = if options.growth.is_finite() { options.growth.max(1.001) } else { 2.0 };
    let mut lambda = options.lambda_low_bytes.max(child_bytes) as f64;
    let mut children = Vec::new();
    while lambda <= options.lambda_high_bytes.max(child_bytes) as f64 {
        let count = (lambda as u64 / child_bytes).max(1);
        if children.last() != Some(&count) {
            children.push(count);
        }
        lambda *= growth;
    }
    children
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_set_has_thirteen_granularities_a_kind() {
        let grid = granularities(256, &DesignSearchOptions::default());
        assert_eq!(grid, (0..13).map(|i| 1 << i).collect::<Vec<u64>>());
    }

    #[test]
    fn granularities_are_whole_children_and_none_comes_twice() {
        let options = DesignSearchOptions { growth: 1.3, lambda_high_bytes: 20_000, ..DesignSearchOptions::default() };
        assert_eq!(granularities(4096, &options), [1, 2, 3, 4]);
        assert_eq!(granularities(1 << 21, &DesignSearchOptions::default()), [1]);
        let broken = DesignSearchOptions { growth: f64::NAN, ..DesignSearchOptions::default() };
        assert_eq!(granularities(1 << 19, &broken), [1, 2]);
    }
}
