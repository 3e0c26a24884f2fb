//! The choice of the method with the least price; `unsorted`, `sorted` and `cost_model` have the prices.

use crate::join::rows::method::{JoinMethod, MethodImplementation};
use crate::join::rows::options::{JoinKind, JoinSide};
use crate::join::rows::plan::cost::JoinCost;
use crate::join::rows::plan::facts::JoinCostModel;
use crate::join::rows::plan::facts::{LookupAccess, PlanContext, PlanInput, SideFacts};

/// One method with the roles of both relations, and its predicted cost.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::join) struct MethodCandidate {
    pub(super) method: JoinMethod,
    /// The inner relation: looked up in, hashed or indexed.
    pub(in crate::join) inner: Option<JoinSide>,
    /// The predicted cost, or the reason why the method cannot run.
    pub(in crate::join) cost: Result<JoinCost, String>,
}

/// Least work per thread, in microseconds: starting and stopping a thread, and cutting the input, take a few hundred.
const THREAD_WORK_US_MIN: f64 = 50_000.0;
/// Least memory per thread, in bytes.
const THREAD_MEMORY_BYTES_MIN: f64 = 4_194_304.0;

/// If processor time dominates and one relation has at least this many times the rows of the other, the thread of a
/// planned scan looks up and checks in parallel to the joining thread: it took 0.5 to 0.75 of a merge's time in the
/// page cache, while predicted costs are about equal.
const SPARSE_RATIO_MIN: f64 = 8.0;
const LOOKUP_CPU_FRACTION: f64 = 0.06;

/// The advantage that a method needs over the simplest one: at about equal cost the simple method wins. A planned scan
/// that reads as much as a merge took up to twice as long on a busy machine.
/// Registered methods must be clearly better than the engine's own.
fn handicap_us(method: JoinMethod, total_us: f64) -> f64 {
    match method {
        JoinMethod::Merge => 0.0,
        JoinMethod::Inlj => 100.0 + 0.03 * total_us,
        JoinMethod::InljIndex | JoinMethod::Hash | JoinMethod::Partition => 100.0,
        _ => 1_000.0 + 0.03 * total_us,
    }
}

impl PlanInput<'_> {
    /// All methods, each with its better roles, or with `inner` if given: the cheapest first, those that cannot run
    /// last.
    pub(in crate::join) fn candidates(&self, asked: JoinMethod, inner: Option<JoinSide>) -> Vec<MethodCandidate> {
        let mut methods: Vec<JoinMethod> =
            JoinMethod::all().into_iter().filter(|method| *method != JoinMethod::Auto).collect();
        if !methods.contains(&asked) && asked != JoinMethod::Auto {
            // A registered method with another number than the listed one.
            methods.retain(|method| !method.is_like(asked));
            methods.push(asked);
        }
        let mut found: Vec<MethodCandidate> = methods.into_iter().map(|method| self.candidate(method, inner)).collect();
        let rows = [self.left.rows, self.right.rows];
        let is_sparse = rows[0].min(rows[1]) * SPARSE_RATIO_MIN <= rows[0].max(rows[1]);
        let total = |candidate: &MethodCandidate| match &candidate.cost {
            Ok(cost) if candidate.method == JoinMethod::Inlj && is_sparse && cost.cpu_us > cost.total_us / 2.0 => {
                cost.total_us * (1.0 - LOOKUP_CPU_FRACTION)
            }
            Ok(cost) => cost.total_us + handicap_us(candidate.method, cost.total_us),
            Err(_) => f64::INFINITY,
        };
        found.sort_by(|a, b| total(a).total_cmp(&total(b)));
        found
    }

    /// A method with the better of its roles.
    fn candidate(&self, method: JoinMethod, inner: Option<JoinSide>) -> MethodCandidate {
        if matches!(method, JoinMethod::Merge | JoinMethod::Partition) || method.as_copy().is_some() {
            return MethodCandidate { method, inner: None, cost: self.cost(method, JoinSide::Right) };
        }
        if method == JoinMethod::Hash {
            let side = self.hashed();
            return MethodCandidate { method, inner: Some(side), cost: self.cost(method, side) };
        }
        // The larger relation is the inner one, if possible: looking many keys up among few saves nothing.
        let larger = if self.left.bytes > self.right.bytes { JoinSide::Left } else { JoinSide::Right };
        let side = inner.unwrap_or(larger);
        match self.cost(method, side) {
            Err(reason) if inner.is_none() => match self.cost(method, side.other()) {
                Ok(cost) => MethodCandidate { method, inner: Some(side.other()), cost: Ok(cost) },
                Err(_) => MethodCandidate { method, inner: Some(side), cost: Err(reason) },
            },
            cost => MethodCandidate { method, inner: Some(side), cost },
        }
    }

    /// The smaller relation, unless the join returns rows of the left one individually.
    fn hashed(&self) -> JoinSide {
        match self.context.kind {
            JoinKind::Inner if self.left.memory_bytes < self.right.memory_bytes => JoinSide::Left,
            _ => JoinSide::Right,
        }
    }

    /// The cost of a method with one side as the inner relation.
    fn cost(&self, method: JoinMethod, inner: JoinSide) -> Result<JoinCost, String> {
        self.check_kind(method, inner)?;
        match method {
            JoinMethod::Merge => Ok(self.merge()),
            JoinMethod::Hash => Ok(self.hash(inner)),
            JoinMethod::Inlj => self.planned(inner),
            JoinMethod::InljIndex => self.open_probes(inner),
            JoinMethod::Partition => Ok(self.partition()),
            JoinMethod::Auto => Err("it is not a method of its own".into()),
            JoinMethod::Registered(method) => match method.implementation() {
                MethodImplementation::Probe(probe) => probe.cost(&JoinCostModel(self), inner, method.number()),
                MethodImplementation::Copy(copy) => copy.cost(&JoinCostModel(self)),
            },
        }
    }

    /// Refuses lookups where both relations must be read whole, and where they cannot tell the partners of a row that a
    /// condition leaves, or that nulls in keys leave.
    fn check_kind(&self, method: JoinMethod, inner: JoinSide) -> Result<(), String> {
        let PlanContext { kind, has_condition, may_have_nulls, .. } = self.context;
        if !method.is_lookup() {
            return Ok(());
        }
        if kind.keeps_unmatched_right() {
            return Err(format!("a join of kind {kind} reads both of them whole"));
        }
        let is_registered = matches!(method, JoinMethod::Registered(_));
        if may_have_nulls && is_registered {
            return Err("their keys may have nulls, and it takes nulls for equal".into());
        }
        let is_registered = is_registered && kind != JoinKind::Inner;
        let is_probe = method == JoinMethod::InljIndex && kind == JoinKind::Semi && inner == JoinSide::Left;
        if has_condition && (is_registered || is_probe) {
            return Err(format!("in a join of kind {kind}, it cannot apply a condition to all pairs of a row"));
        }
        Ok(())
    }

    /// The number of threads that pays off at this cost, for methods that split the key range between threads.
    pub(in crate::join) fn threads(&self, method: JoinMethod, cost: &JoinCost) -> usize {
        let is_cut = !matches!(method, JoinMethod::Hash | JoinMethod::Partition) && method.as_copy().is_none();
        // A sorted file has no index to find a key range: each thread would read all of it.
        let is_whole = |side: &SideFacts| side.access == LookupAccess::Scan && side.is_sorted;
        if !is_cut || is_whole(&self.left) || is_whole(&self.right) {
            return 1;
        }
        let by_work = (cost.cpu_us / THREAD_WORK_US_MIN).floor();
        let by_memory = (self.context.memory_bytes / THREAD_MEMORY_BYTES_MIN).floor();
        let most = self.context.threads.max(1) as f64;
        by_work.min(by_memory).clamp(1.0, most) as usize
    }

    /// Whether a table stores an exact index.
    pub(in crate::join) fn has_index(&self, side: JoinSide) -> bool {
        matches!(&self.side(side).access, LookupAccess::TableBlocks(blocks) if blocks.stored_index.is_some())
            || self.side(side).access == LookupAccess::Probe
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Profile;
    use crate::join::rows::plan::facts::{StoredIndex, TableBlocks};
    use crate::join::rows::plan::spread::Spread;
    use crate::join::rows::text_hints::{InputHints, ParsedText};

    const ROWS: f64 = 1e7;
    const BLOCK_BYTES: u64 = 4096;

    /// Records of 16 bytes.
    fn table(rows: f64, carries_index: bool) -> SideFacts {
        let count = (rows / 255.0).ceil();
        let stored_index = carries_index.then_some(StoredIndex {
            unread_bytes: 0,
            memory_bytes: 8 * count as u64,
            window_blocks: 1.0,
            separates_blocks: true,
        });
        SideFacts {
            name: format!("table of {rows}"),
            rows,
            bytes: rows * 16.0,
            memory_bytes: rows * 16.0,
            key_bytes: Some(8.0),
            value_bytes: Some(8.0),
            is_sorted: true,
            is_distinct: true,
            access: LookupAccess::TableBlocks(TableBlocks { count, bytes: BLOCK_BYTES, stored_index }),
            hints: InputHints::default(),
        }
    }

    fn unsorted(rows: f64) -> SideFacts {
        SideFacts { is_sorted: false, access: LookupAccess::Scan, ..table(rows, false) }
    }

    fn best(
        left: SideFacts,
        right: SideFacts,
        kind: JoinKind,
        profile: &Profile,
        memory_bytes: f64,
    ) -> MethodCandidate {
        let blocks = |side: &SideFacts| match &side.access {
            LookupAccess::TableBlocks(blocks) => blocks.count,
            _ => 0.0,
        };
        let local = Profile::default();
        let input = PlanInput {
            left_over_right: Spread::even(left.rows, blocks(&right)),
            right_over_left: Spread::even(right.rows, blocks(&left)),
            context: PlanContext {
                kind,
                has_condition: false,
                may_have_nulls: false,
                profile,
                local: &local,
                memory_bytes,
                threads: 1,
                any_order: false,
                formatted_fields: None,
            },
            left,
            right,
        };
        input.candidates(JoinMethod::Auto, None).remove(0)
    }

    fn profiles() -> impl Iterator<Item = Profile> {
        Profile::names().map(|name| Profile::named(name).unwrap())
    }

    #[test]
    fn a_small_outer_relation_looks_up_in_the_large_one() {
        for profile in profiles() {
            for swapped in [false, true] {
                let (small, large) = (table(10.0, true), table(ROWS, true));
                let (left, right) = if swapped { (large, small) } else { (small, large) };
                let chosen = best(left, right, JoinKind::Inner, &profile, 256e6);
                let large_side = if swapped { JoinSide::Left } else { JoinSide::Right };
                assert_eq!((chosen.method, chosen.inner), (JoinMethod::Inlj, Some(large_side)), "{profile:?}");
            }
        }
    }

    #[test]
    fn a_small_outer_relation_is_sorted_first_if_it_fits_memory() {
        for profile in profiles() {
            for swapped in [false, true] {
                let sides = |small: f64| match swapped {
                    true => (table(ROWS, true), unsorted(small)),
                    false => (unsorted(small), table(ROWS, true)),
                };
                let large_side = if swapped { JoinSide::Left } else { JoinSide::Right };
                let chosen = |small: f64| {
                    let (left, right) = sides(small);
                    best(left, right, JoinKind::Inner, &profile, 256e6)
                };
                let few = chosen(10.0);
                assert_eq!((few.method, few.inner), (JoinMethod::Inlj, Some(large_side)), "{profile:?}");
                assert_ne!(chosen(1e7).method, JoinMethod::Inlj, "{profile:?}");
            }
        }
    }

    #[test]
    fn a_local_side_takes_no_round_of_requests_of_its_own() {
        let (s3, mut few) = (Profile::named("s3").unwrap(), table(20.0, true));
        let predicted = |few: SideFacts| best(few, table(ROWS, true), JoinKind::Inner, &s3, 256e6).cost.unwrap();
        let far = predicted(few.clone());
        few.hints.is_local = true;
        assert!(predicted(few).device_us < 0.9 * far.device_us);
    }

    #[test]
    fn text_that_is_parsed_and_formatted_is_priced_and_counted() {
        let profile = Profile::default();
        let text = |rows: f64, keys: u64| SideFacts {
            hints: InputHints {
                text: Some(ParsedText { bytes: 70 * rows as u64, fields: 6 }),
                distinct_keys: Some(keys),
                is_local: false,
            },
            value_bytes: None,
            ..unsorted(rows)
        };
        let plain = best(unsorted(2e6), unsorted(2e5), JoinKind::Inner, &profile, 256e6).cost.unwrap();
        let parsed = best(text(2e6, 200_000), text(2e5, 200_000), JoinKind::Inner, &profile, 256e6).cost.unwrap();
        assert_eq!((plain.bytes_parsed, parsed.bytes_parsed), (0.0, 70.0 * 2.2e6));
        assert!(parsed.cpu_us > 4.0 * plain.cpu_us, "{plain:?} {parsed:?}");
    }

    #[test]
    fn an_index_is_not_built_where_all_is_read_anyway() {
        for profile in profiles() {
            let chosen = best(table(ROWS, false), table(ROWS, false), JoinKind::Inner, &profile, 256e6);
            assert_eq!(chosen.method, JoinMethod::Merge, "{profile:?}");
        }
    }

    #[test]
    fn two_tables_whose_blocks_are_all_wanted_are_merged_even_with_an_index() {
        for profile in profiles() {
            for memory_bytes in [1.28e6, 12.8e6, 256e6] {
                let chosen = best(table(2e5, true), table(2e5, true), JoinKind::Inner, &profile, memory_bytes);
                assert_eq!(chosen.method, JoinMethod::Merge, "{profile:?} {memory_bytes}: {chosen:?}");
            }
        }
    }

    #[test]
    fn a_relation_whose_rows_are_all_wanted_is_never_looked_up_in() {
        for kind in [JoinKind::Left, JoinKind::Anti] {
            for profile in profiles() {
                let chosen = best(table(ROWS, true), table(1e3, true), kind, &profile, 256e6);
                assert!(
                    chosen.method == JoinMethod::Merge || chosen.inner != Some(JoinSide::Left),
                    "{kind} {chosen:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_not_sorted_is_joined_by_no_method_that_needs_blocks() {
        for profile in profiles() {
            for memory_bytes in [16e6, 300e6, 4e9] {
                let chosen = best(unsorted(2e7), unsorted(2e7), JoinKind::Inner, &profile, memory_bytes);
                assert!(
                    matches!(chosen.method, JoinMethod::Merge | JoinMethod::Hash | JoinMethod::Partition),
                    "{chosen:?}"
                );
            }
        }
    }

    #[test]
    fn less_memory_is_hardly_expected_to_be_faster() {
        for profile in profiles() {
            let total = |memory_bytes| {
                best(unsorted(2e7), unsorted(2e7), JoinKind::Inner, &profile, memory_bytes).cost.unwrap().total_us
            };
            let totals = [4e6, 64e6, 300e6, 4e9].map(total);
            // Shorter runs are sorted in fewer steps.
            assert!(totals.is_sorted_by(|a, b| *a >= b * 0.9), "{profile:?}: {totals:?}");
        }
    }
}
