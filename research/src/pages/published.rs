//! Figures that the papers state, for the cases that our experiments have, too.

use super::row::{RunRow, base_set};

/// A figure of a paper.
#[derive(Debug)]
pub(super) struct Published {
    experiment: &'static str,
    /// Fields that a record must have for the figure to be about the same case.
    case: &'static [(&'static str, &'static str)],
    field: &'static str,
    pub(super) value: f64,
    /// Whose it is: the paper's, or what its authors' code gives on our keys.
    pub(super) by: &'static str,
    /// Where it stands.
    pub(super) place: &'static str,
}

const PAPER: &str = "the paper";
const AUTHORS: &str = "authors' code";

type Case = &'static [(&'static str, &'static str)];

/// A speed-up of Bourbon's tables.
const fn bourbon(experiment: &'static str, place: &'static str, case: Case, value: f64) -> Published {
    Published { experiment, case, field: "speedup", value, by: PAPER, place }
}

const fn table_1(case: Case, value: f64) -> Published {
    Published { field: "foreground_speedup", ..bourbon("bourbon/table1", "Table 1", case, value) }
}

/// Blocks of a lookup by the AULID authors' code, counted as ours.
const fn aulid(case: Case, value: f64) -> Published {
    let (experiment, field) = ("aulid/blocks", "blocks_per_get");
    Published { experiment, case, field, value, by: AUTHORS, place: "research/src/aulid/page.md" }
}

/// The fields of [`aulid`] that all of its cases have.
const AULID_RUN: Case = &[("phase", "bulk"), ("resident_bytes", "0"), ("keys_count", "10,000,000")];

const FIGURES: &[Published] = &[
    table_1(&[("learning", "always"), ("writes_percent", "50")], 1.16),
    table_1(&[("learning", "always, levels"), ("writes_percent", "50")], 0.87),
    table_1(&[("learning", "always"), ("writes_percent", "5")], 1.44),
    table_1(&[("learning", "always, levels"), ("writes_percent", "5")], 1.2),
    table_1(&[("learning", "always"), ("writes_percent", "0")], 1.78),
    table_1(&[("learning", "always, levels"), ("writes_percent", "0")], 1.92),
    bourbon("bourbon/table2", "Table 2", &[("learning", "file models"), ("requests", "uniform")], 1.28),
    bourbon("bourbon/table3", "Table 3", &[("learning", "file models"), ("requests", "uniform")], 1.04),
    bourbon("bourbon/table3", "Table 3", &[("learning", "file models"), ("requests", "hotspot:0.25,0.8")], 1.25),
    aulid(&[("keys", "lognormal"), ("structure", "aulid")], 2.95),
    aulid(&[("keys", "uniform"), ("structure", "aulid")], 2.13),
    aulid(&[("keys", "step"), ("structure", "aulid")], 3.06),
    aulid(&[("keys", "lognormal"), ("structure", "btree")], 4.01),
    aulid(&[("keys", "uniform"), ("structure", "btree")], 4.01),
    aulid(&[("keys", "step"), ("structure", "btree")], 4.01),
];

/// The figure that a paper states for the case of a record.
pub(super) fn figure(row: &RunRow, field: &str) -> Option<&'static Published> {
    let is_same = |(name, value): &(&str, &str)| match *name {
        "keys" => base_set(&row.text(name)) == **value,
        _ => row.text(name) == *value,
    };
    FIGURES.iter().find(|published| {
        let run = if published.by == AUTHORS { AULID_RUN } else { &[] };
        published.experiment == row.experiment()
            && published.field == field
            && published.case.iter().chain(run).all(is_same)
    })
}
