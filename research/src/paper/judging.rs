//! Rules that judges share.

use super::rows::{Rows, Span};
use super::verdict::Verdict;

/// A factor of a paper is reached by nine tenths of it: it was rounded, and measured on other keys and machines.
const REACHED: f64 = 0.9;
/// Two figures are about equal within a tenth, as far as equal runs differ (`research/src/aulid/page.md`).
pub(crate) const ABOUT_EQUAL: f64 = 1.1;

/// Counts that differ by a hundredth are a tie: they are means over a sample of operations.
pub(crate) const TIE: f64 = 1.01;

/// Whether a factor of a paper is reached. A gain is reached by gains only.
pub(crate) fn reaches(factor: f64, paper: f64) -> bool {
    factor >= REACHED * paper && (factor > 1.0 || paper <= 1.0)
}

/// Whether all ratios are about one.
pub(crate) fn about_equal(span: Span) -> bool {
    span.min >= 1.0 / ABOUT_EQUAL && span.max <= ABOUT_EQUAL
}

/// Whether no ratio is much above one.
pub(crate) fn at_most_equal(span: Span) -> bool {
    span.max <= ABOUT_EQUAL
}

/// The verdict on "at least this factor in all cases".
pub(crate) fn by_factor(span: Span, paper: f64, what: &str) -> Verdict {
    Verdict::of(reaches(span.min, paper), format!("{what}: {span}"))
}

/// The verdict on a gain of an experiment's field `speedup`, such as "1.23 to 1.78 times faster".
pub(crate) fn by_speedup(rows: &Rows<'_>, paper: f64, what: &str) -> Option<Verdict> {
    Some(by_factor(rows.span("speedup")?, paper, what))
}

/// The verdict on "the least of all": the greatest ratio of `subject` to each of the others, over all groups.
pub(crate) fn by_least(
    rows: &Rows<'_>,
    by: &[&str],
    (column, subject, others): (&str, &str, &[&str]),
    field: &str,
    unit: &str,
) -> Option<Verdict> {
    let mut worst: Option<(f64, &str)> = None;
    for &other in others {
        let Some(ratio) = rows.ratios(by, (column, subject, other), field) else { continue };
        if worst.is_none_or(|(worst, _)| ratio.max > worst) {
            worst = Some((ratio.max, other));
        }
    }
    let (ratio, other) = worst?;
    let ours = rows.with(column, subject).span(field)?;
    let told = format!("{subject} {ours} {unit}; at worst {} times those of {other}", super::rows::short(ratio));
    Some(Verdict::of(ratio <= TIE, told))
}

/// Figures of several subjects in one sentence: `btree 3.00, lipp 1.40 to 2.13`.
pub(crate) fn told(rows: &Rows<'_>, column: &str, subjects: &[&str], field: &str) -> String {
    let told = subjects.iter().filter_map(|subject| {
        let span = rows.with(column, subject).span(field)?;
        Some(format!("{subject} {span}"))
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_reached_by_nine_tenths_and_by_no_loss() {
        assert!(reaches(1.81, 2.0) && !reaches(1.79, 2.0));
        assert!(reaches(1.01, 1.06) && !reaches(0.99, 1.06));
        assert!(reaches(0.91, 1.0) && reaches(0.16, 0.17));
    }
}
