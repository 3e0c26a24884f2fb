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

/// What a paper says of an experiment as a whole.
const CLAIMS: &[(&str, &str)] = &[
    (
        "airindex/designs",
        "AirIndex is consistently among the fastest at the first query: 2.0 to 2.4 times faster than the same B-tree \
        on \
        NFS, equal to it on SSD and HDD; no manual choice of layers and granularity is faster.",
    ),
    (
        "airindex/knobs",
        "AirIndex beats the best page size of LMDB (2.7 times), the best RMI (1.5) and PLEX (1.7), and the best \
        granularity of its B-tree (1.3) on NFS.",
    ),
    (
        "airindex/spectrum",
        "Higher latency or bandwidth makes indexes flatter and reads longer; in the extreme there is no index at all.",
    ),
    (
        "airindex/mismatch",
        "Within one order of magnitude the tuned design stays optimal; at three orders it is up to 35 times slower \
        than \
        the right one.",
    ),
    (
        "airindex/breakdown",
        "Time is determined by the lengths of reads; work other than I/O is up to 1 % on NFS and 9 % on SSD.",
    ),
    (
        "airindex/warm",
        "Flat and narrow indexes accelerate soonest; AirIndex leads from 100 to 100,000 queries and is then overtaken.",
    ),
    ("airindex/skew", "Skew does not change the first lookup; with more skew, another design takes over sooner."),
    ("airindex/builders", "A wider set of node types helps if the data suit only one of them."),
    (
        "aulid/throughput",
        "AULID is the fastest on all workloads and sets, up to 2.11 times FITing-tree, 8.63 PGM, 1.72 B+-tree, 5.51 \
        ALEX, 8.02 LIPP (SATA disk).",
    ),
    ("aulid/bulk-load", "AULID loads in 1.35 times the B+-tree's time (800 million keys: 27 s against 20 s)."),
    (
        "bourbon/fig3",
        "Favor learning files at lower levels: a table of the deepest level lives 360 times as long as one of level 0 \
        at 50 % writes (60 minutes against 10 seconds).",
    ),
    ("bourbon/fig10", "Lookups without writes are 1.23 to 1.78 times faster with models."),
    (
        "join/fig3",
        "With any index, a join that probes window by window pays for its requests. Learned indexes are 1.5 to 2 times \
        as fast as the B-tree at ratio 1 on an SSD; on a hard disk the B-tree beats them.",
    ),
    ("join/table2", "Indexes are 30 to 130 times smaller with errors of 4,096 than with 256."),
    ("join/strings", "The sampled PGM is 5 times as fast as the B-tree at ratio 1 and 1.3 times at 1000."),
];

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
    Published { experiment, case, field, value, by: AUTHORS, place: "docs/papers/aulid.md" }
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
        "keys" => base_set(&row.text(name)) == *value,
        _ => row.text(name) == *value,
    };
    FIGURES.iter().find(|published| {
        let run = if published.by == AUTHORS { AULID_RUN } else { &[] };
        published.experiment == row.experiment()
            && published.field == field
            && published.case.iter().chain(run).all(is_same)
    })
}

/// What a paper says of an experiment.
pub(super) fn claim(experiment: &str) -> Option<&'static str> {
    CLAIMS.iter().find(|(name, _)| *name == experiment).map(|(_, claim)| *claim)
}
