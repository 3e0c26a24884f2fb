//! The steps of the paper on AirIndex.

use crate::experiments::Context;
use crate::paper::step::{Step, keys, names};

const ONE_MILLION: u64 = 1_000_000;
const TEN_MILLION: u64 = 10_000_000;
/// Keys of Figure 16.
const ONE_HUNDRED_MILLION: u64 = 100_000_000;
const TWO_HUNDRED_MILLION: u64 = 200_000_000;
/// Keys at small scale: enough for a second layer of a B-tree.
const SMALL: u64 = 100_000;
/// Real sets of research/src/airindex/page.md.
const REAL_KEYS: &[&str] = &[
    "covid_a.u64",
    "ticks_ms.u64",
    "kmer32.u64",
    "genome_b37.u64",
    "osm_nodeid.u64",
    "boundary_morton.u64",
    "git_times.u64",
    "git_oid.u64",
];
/// The paper's storages.
const STORAGES: [&str; 3] = ["ssd", "hdd", "nfs"];
pub(super) static DESIGNS: Step = Step::new("airindex/designs", 2.8, |scale| Context {
    key_sets: names(&["lognormal", "uniform", "step", "gmm"]),
    profiles: names(&STORAGES),
    designs: names(scale.pick(
        &["tuned", "btree", "pgm:128", "rmi", "plex:2048", "data-calculator"],
        &["tuned", "btree", "pgm:128", "rmi", "plex:2048", "radix-spline", "data-calculator", "coded"],
        &["tuned", "btree", "pgm:128", "rmi", "plex:2048", "radix-spline", "data-calculator", "coded"],
    )),
    structures: names(&["alex"]),
    lookups: Some(scale.pick(100, 10_000, 10_000)),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(REAL_KEYS);

pub(super) static WARM: Step = Step::new("airindex/warm", 1.0, |scale| Context {
    key_sets: names(scale.pick(&["lognormal"], &["lognormal", "uniform", "step", "gmm"], &["lognormal", "gmm"])),
    designs: names(&["tuned", "btree", "pgm:128", "rmi", "plex:2048", "data-calculator", "coded"]),
    structures: names(&["alex"]),
    lookups: Some(scale.pick(10_000, 1_000_000, 1_000_000)),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(REAL_KEYS);

pub(super) static KNOBS: Step =
    Step::new("airindex/knobs", 0.2, |scale| keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION)));

pub(super) static SPECTRUM: Step =
    Step::new("airindex/spectrum", 4.3, |scale| keys(scale.pick(SMALL / 2, TEN_MILLION, TWO_HUNDRED_MILLION)));

pub(super) static MISMATCH: Step =
    Step::new("airindex/mismatch", 2.4, |scale| keys(scale.pick(SMALL / 2, TEN_MILLION, TWO_HUNDRED_MILLION)));

pub(super) static BUILD: Step = Step::new("airindex/build", 2.4, |scale| Context {
    key_sets: names(&["gmm"]),
    payload_bytes: 8,
    designs: names(scale.pick(
        &["none", "btree", "tuned", "rmi", "plex:2048", "data-calculator"],
        &["none", "btree", "coded", "tuned", "pgm:128", "rmi", "plex:2048", "data-calculator"],
        &["none", "btree", "coded", "tuned", "pgm:128", "rmi", "plex:2048", "data-calculator"],
    )),
    structures: names(&["alex"]),
    seeds: scale.pick(1, 5, 3),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
});

pub(super) static BREAKDOWN: Step = Step::new("airindex/breakdown", 1.0, |scale| Context {
    lookups: Some(scale.pick(10_000, 100_000, 1_000_000)),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
});

pub(super) static COMPLEXITY: Step = Step::new("airindex/complexity", 0.1, |_| Context::default());

pub(super) static SKEW: Step = Step::new("airindex/skew", 3.2, |scale| Context {
    designs: names(scale.pick(
        &["tuned", "btree"],
        &["tuned", "btree", "pgm:64", "coded"],
        &["tuned", "btree", "pgm:64"],
    )),
    lookups: Some(scale.pick(100, 1_000, 1_000)),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
});

pub(super) static TOP_K: Step =
    Step::new("airindex/topk", 3.7, |scale| keys(scale.pick(SMALL / 2, TEN_MILLION, TWO_HUNDRED_MILLION)));

pub(super) static BUILDERS: Step = Step::new("airindex/builders", 1.5, |scale| Context {
    key_sets: names(&["gmm", "uniform", "lognormal", "step"]),
    profiles: names(&STORAGES),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
});

pub(super) static RETUNE: Step = Step::new("airindex/retune", 2.2, |scale| Context {
    profiles: names(scale.pick(&["ssd"], &["optane", "ssd", "s3"], &["optane", "ssd", "s3"])),
    lookups: Some(scale.pick(2_000, 200_000, 1_000_000)),
    payload_bytes: 8,
    ..keys(scale.pick(SMALL / 2, ONE_MILLION, TWO_HUNDRED_MILLION))
});

pub(super) static UPDATES: Step = Step::new("airindex/updates", 3.0, |scale| Context {
    lookups: Some(scale.pick(500, 20_000, 20_000)),
    ..keys(scale.pick(SMALL / 10, TEN_MILLION, ONE_HUNDRED_MILLION))
});

pub(super) static EMULATED: Step = Step::new("airindex/emulated", 4.0, |scale| Context {
    key_sets: names(scale.pick(&["lognormal"], &["lognormal", "uniform", "gmm"], &["lognormal", "uniform", "gmm"])),
    designs: names(scale.pick(
        &["tuned", "btree"],
        &["tuned", "btree", "pgm:128", "rmi", "plex:2048", "data-calculator", "coded"],
        &["tuned", "btree", "pgm:128", "rmi", "plex:2048", "data-calculator", "coded"],
    )),
    lookups: Some(scale.pick(2, 100, 1_000)),
    ..keys(scale.pick(SMALL / 10, TEN_MILLION, TWO_HUNDRED_MILLION))
});
