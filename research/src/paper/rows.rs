//! Records, filtered and compared by judges.

use std::collections::BTreeSet;
use std::fmt;

use crate::output::Figure;
use crate::pages::RunRow;

/// Some records of the steps of an item.
#[derive(Clone, Debug)]
pub struct Rows<'r> {
    rows: Vec<&'r RunRow>,
}

/// The least and the greatest of some figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl<'r> Rows<'r> {
    pub(crate) fn new(rows: impl Iterator<Item = &'r RunRow>) -> Self {
        Self { rows: rows.collect() }
    }

    fn filtered(&self, keep: impl Fn(&RunRow) -> bool) -> Self {
        Self { rows: self.rows.iter().copied().filter(|row| keep(row)).collect() }
    }

    /// The records of an experiment.
    pub(crate) fn of(&self, experiment: &str) -> Self {
        self.filtered(|row| row.experiment() == experiment)
    }

    /// The records with this text in a field.
    pub(crate) fn with(&self, field: &str, text: &str) -> Self {
        self.filtered(|row| row.text(field) == text)
    }

    /// The records with this text within a field.
    pub(crate) fn containing(&self, field: &str, part: &str) -> Self {
        self.filtered(|row| row.text(field).contains(part))
    }

    /// The records with one of these texts within a field.
    pub(crate) fn containing_any(&self, field: &str, parts: &[&str]) -> Self {
        self.filtered(|row| parts.iter().any(|part| row.text(field).contains(part)))
    }

    /// The records with one of these texts in a field.
    pub(crate) fn with_any(&self, field: &str, texts: &[&str]) -> Self {
        self.filtered(|row| texts.contains(&row.text(field).as_str()))
    }

    /// The records whose number in a field is in a range.
    pub(crate) fn within(&self, field: &str, range: std::ops::RangeInclusive<f64>) -> Self {
        self.filtered(|row| row.number(field).is_some_and(|number| range.contains(&number)))
    }

    /// The records with this number in a field.
    pub(crate) fn at(&self, field: &str, number: f64) -> Self {
        self.within(field, number..=number)
    }

    /// The records of generated or real sets whose name begins so.
    pub(crate) fn on_keys(&self, set: &str) -> Self {
        self.filtered(|row| row.text("keys").split(':').next() == Some(set))
    }

    /// The records of real sets, which are files, or those of generated sets.
    pub(crate) fn on_real_keys(&self, are_real: bool) -> Self {
        self.filtered(|row| row.text("keys").ends_with(".u64") == are_real)
    }

    /// The number of records of subjects that failed.
    pub(crate) fn failures(&self) -> usize {
        self.rows.iter().filter(|row| row.error().is_some()).count()
    }

    /// The records in groups with equal fields, in the order of their first records.
    pub(crate) fn groups(&self, fields: &[&str]) -> Vec<Self> {
        let mut groups: Vec<(String, Self)> = Vec::new();
        for &row in &self.rows {
            let name = row.label(fields);
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, group)) => group.rows.push(row),
                None => groups.push((name, Self { rows: vec![row] })),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// The records in ascending order of a number.
    pub(crate) fn sorted_by(&self, field: &str) -> Self {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| a.number(field).unwrap_or(f64::NAN).total_cmp(&b.number(field).unwrap_or(f64::NAN)));
        Self { rows }
    }

    /// The numbers in a field, in order, of the records that have one.
    pub(crate) fn numbers(&self, field: &str) -> Vec<f64> {
        self.rows.iter().filter_map(|row| row.number(field)).collect()
    }

    /// The number in a field of the first record.
    pub(crate) fn number(&self, field: &str) -> Option<f64> {
        self.rows.first()?.number(field)
    }

    /// The number in a field of all records; `None` if they differ, so that no judge takes one of several at random.
    fn one_number(&self, field: &str) -> Option<f64> {
        let span = self.span(field)?;
        (span.min == span.max).then_some(span.min)
    }

    /// The text in a field of the first record; empty if there is none.
    pub(crate) fn text(&self, field: &str) -> String {
        self.rows.first().map(|row| row.text(field)).unwrap_or_default()
    }

    /// The least and the greatest number in a field.
    pub(crate) fn span(&self, field: &str) -> Option<Span> {
        Span::of(self.numbers(field))
    }

    /// Numbers of keys of the generated sets, as their names state them: `10M`.
    pub(crate) fn key_counts(&self) -> String {
        let count = |row: &&RunRow| row.text("keys").split(':').nth(1).map(str::to_owned);
        let counts: BTreeSet<String> = self.rows.iter().filter_map(count).collect();
        counts.into_iter().collect::<Vec<_>>().join(", ")
    }

    /// The numbers of one subject over those of another, in each group of records with equal fields `by` that has both.
    ///
    /// `column` names the subjects, as in `("structure", "btree", "aulid")`: the B+-tree's figure over AULID's.
    pub(crate) fn ratios(&self, by: &[&str], (column, over, under): (&str, &str, &str), field: &str) -> Option<Span> {
        let ratio = |group: &Self| {
            Some(group.with(column, over).one_number(field)? / group.with(column, under).one_number(field)?)
        };
        Span::of(self.groups(by).iter().filter_map(ratio))
    }

    /// The numbers of several subjects, in their order; `None` unless each has one.
    pub(crate) fn all_of(&self, column: &str, subjects: &[&str], field: &str) -> Option<Vec<f64>> {
        subjects.iter().map(|subject| self.with(column, subject).one_number(field)).collect()
    }

    /// The last number over the first one, in ascending order of `along`, in each group that has several points.
    pub(crate) fn changes(&self, by: &[&str], along: &str, field: &str) -> Option<Span> {
        let change = |group: &Self| {
            let places = group.span(along)?;
            let numbers = group.sorted_by(along).numbers(field);
            (places.min < places.max).then_some(numbers.last()? / numbers.first()?)
        };
        Span::of(self.groups(by).iter().filter_map(change))
    }

    /// The share of the groups for which a condition holds; `None` without groups that it can be asked of.
    pub(crate) fn share(&self, by: &[&str], holds: impl Fn(&Self) -> Option<bool>) -> Option<Share> {
        let asked: Vec<bool> = self.groups(by).iter().filter_map(holds).collect();
        let share = Share { holds: asked.iter().filter(|holds| **holds).count(), of: asked.len() };
        (share.of > 0).then_some(share)
    }
}

/// The number of cases in which a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) holds: usize,
    pub(crate) of: usize,
}

impl Share {
    pub(crate) fn is_all(self) -> bool {
        self.holds == self.of
    }

    pub(crate) fn is_most(self) -> bool {
        2 * self.holds > self.of
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.holds, self.of)
    }
}

impl Span {
    /// The span of some numbers; `None` if there are none. A ratio to nothing is infinite, and of nothing to nothing is
    /// no number.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let numbers: Vec<f64> = numbers.into_iter().filter(|number| !number.is_nan()).collect();
        let min = numbers.iter().copied().reduce(f64::min)?;
        Some(Self { min, max: numbers.iter().copied().fold(min, f64::max) })
    }
}

impl fmt::Display for Span {
    /// `1.20 to 1.55`, or one number if both read the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (min, max) = (short(self.min), short(self.max));
        if min == max { f.write_str(&min) } else { write!(f, "{min} to {max}") }
    }
}

/// A whole number as it is, any other with three significant digits.
pub(crate) fn short(number: f64) -> String {
    /// Numbers below this are told as powers of ten.
    const FIXED_FROM: f64 = 1e-4;
    if number.is_infinite() {
        return "infinitely many".to_owned();
    }
    if number.fract() == 0.0 || number.abs() >= 100.0 {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", Figure::from(number.abs().round() as u64));
    }
    if number.abs() < FIXED_FROM {
        return format!("{number:.2e}");
    }
    // Of the rounded number: 0.9996 has two decimals, as 1.00.
    let rounded: f64 = format!("{number:.2e}").parse().unwrap_or(number);
    let decimals = (2.0 - rounded.abs().log10().floor()).max(0.0) as usize;
    format!("{rounded:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Result;
    use crate::output::Record;
    use crate::pages::Run;

    fn run() -> Result<Run> {
        let of = |keys: &str, structure: &str, blocks: f64| {
            Record::new("aulid/blocks").keys(keys).figure("structure", structure).figure("blocks", blocks)
        };
        Run::of_records(&[
            of("a:1", "btree", 3.0),
            of("a:1", "aulid", 2.0),
            of("b:1", "btree", 4.0),
            of("b:1", "lipp", 1.0),
        ])
    }

    #[test]
    fn sets_of_other_options_are_other_groups_and_those_of_other_counts_are_not() -> Result<()> {
        let of = |keys: &str| Record::new("aulid/blocks").keys(keys);
        let run = Run::of_records(&[
            of("hardness:10M:seed=1:global=2:local=497"),
            of("hardness:10M:seed=1:global=27:local=3323"),
            of("hardness:20M:seed=1:global=2:local=497"),
            of("keys/osm_nodeid.u64"),
        ])?;
        let rows = Rows::new(run.records());
        assert_eq!(rows.groups(&["keys"]).iter().map(|group| group.rows.len()).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(rows.on_keys("hardness").rows.len(), 3);
        assert_eq!((rows.on_real_keys(true).rows.len(), rows.on_real_keys(false).rows.len()), (1, 3));
        Ok(())
    }

    #[test]
    fn ratios_are_of_groups_that_have_both() -> Result<()> {
        let run = run()?;
        let rows = Rows::new(run.records());
        let of = |over, under| rows.ratios(&["keys"], ("structure", over, under), "blocks");
        assert_eq!(of("btree", "aulid"), Some(Span { min: 1.5, max: 1.5 }));
        assert_eq!(of("btree", "lipp"), Some(Span { min: 4.0, max: 4.0 }));
        assert_eq!(of("btree", "pgm"), None);
        assert_eq!(rows.on_keys("a").span("blocks"), Some(Span { min: 2.0, max: 3.0 }));
        let three = |group: &Rows<'_>| Some(group.with("structure", "btree").number("blocks")? == 3.0);
        assert_eq!(rows.share(&["keys"], three), Some(Share { holds: 1, of: 2 }));
        Ok(())
    }

    #[test]
    fn a_change_needs_two_points_and_a_loss_to_nothing_counts() -> Result<()> {
        let of = |keys: &str, skew: f64, us: f64| {
            Record::new("airindex/skew").keys(keys).figure("design", "tuned").figure("skew", skew).figure("us", us)
        };
        let run = Run::of_records(&[of("a", 0.0, 4.0), of("a", 2.0, 1.0), of("b", 0.0, 4.0), of("b", 0.0, 2.0)])?;
        let rows = Rows::new(run.records());
        assert_eq!(rows.changes(&["keys"], "skew", "us"), Some(Span { min: 0.25, max: 0.25 }));
        assert_eq!(rows.on_keys("b").changes(&["keys"], "skew", "us"), None);
        // Of several records none is taken at random.
        assert_eq!(rows.all_of("design", &["tuned"], "us"), None);
        assert_eq!(rows.at("us", 4.0).all_of("design", &["tuned"], "us"), Some(vec![4.0]));
        assert_eq!(rows.all_of("design", &["tuned", "btree"], "us"), None);
        assert_eq!(Span::of([f64::INFINITY, f64::NAN, 2.0]), Some(Span { min: 2.0, max: f64::INFINITY }));
        Ok(())
    }

    #[test]
    fn figures_have_three_digits_and_equal_ends_are_told_once() {
        let shown = [0.0, 6.0, 0.01234, 0.9996, 1.5, 34.56, 1_234.5, 1.234e-5].map(short);
        assert_eq!(shown, ["0", "6", "0.0123", "1.00", "1.50", "34.6", "1,235", "1.23e-5"]);
        assert_eq!(short(f64::INFINITY), "infinitely many");
        assert_eq!(Span { min: 1.001, max: 1.002 }.to_string(), "1.00");
        assert_eq!(Span { min: 1.5, max: 12.0 }.to_string(), "1.50 to 12");
    }
}
