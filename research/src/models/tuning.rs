//! The choice among parameter settings of a structure, by size or by cost.

/// A setting that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluatedSetting<T> {
    /// The setting.
    pub setting: T,
    /// Memory use of the structure in bytes.
    pub resident_bytes: u64,
    /// Number of children that a lookup has to search.
    pub search_width: f64,
}

/// The Pareto-optimal settings by size and search width, smallest first.
///
/// Source: Marcus, Zhang and Kraska, "CDFShop: Exploring and Optimizing Learned Index Structures" (SIGMOD 2020).
///
/// ```
/// use ogive_research::models::tuning::{EvaluatedSetting, pareto};
/// let tried = |setting, resident_bytes, search_width| EvaluatedSetting { setting, resident_bytes, search_width };
/// let front = pareto(vec![tried("large", 9, 1.0), tried("worse", 9, 2.0), tried("small", 1, 3.0)]);
/// assert_eq!(front.iter().map(|tried| tried.setting).collect::<Vec<_>>(), ["small", "large"]);
/// ```
pub fn pareto<T>(mut tried: Vec<EvaluatedSetting<T>>) -> Vec<EvaluatedSetting<T>> {
    tried.sort_by(|a, b| a.resident_bytes.cmp(&b.resident_bytes).then(a.search_width.total_cmp(&b.search_width)));
    let mut narrowest = f64::INFINITY;
    tried.retain(|tried| {
        let better = tried.search_width < narrowest;
        narrowest = narrowest.min(tried.search_width);
        better
    });
    tried
}

/// The narrowest search that fits a budget; the smallest structure if none does. `None` if there are none.
pub fn within<T>(front: &[EvaluatedSetting<T>], budget_bytes: u64) -> Option<&EvaluatedSetting<T>> {
    front.iter().rev().find(|tried| tried.resident_bytes <= budget_bytes).or(front.first())
}

/// The setting with the least cost, as a function of resident bytes and children searched.
pub fn cheapest<T>(front: &[EvaluatedSetting<T>], cost: impl Fn(u64, f64) -> f64) -> Option<&EvaluatedSetting<T>> {
    let cost_of = |tried: &EvaluatedSetting<T>| cost(tried.resident_bytes, tried.search_width);
    front.iter().min_by(|a, b| cost_of(a).total_cmp(&cost_of(b)))
}
