//! Models of the papers' baselines: bounds and nasty key sets. Goal and method of the tests of builders are those of
//! `ogive_model`, whose tests run here with the builders of this crate.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../crates/model/tests/suite/common/mod.rs"]
mod common;
#[path = "../../../crates/model/tests/suite/leads_home.rs"]
mod leads_home;
mod slots;
mod structures;

use ogive_model::FenceRun;
use ogive_model::line::LineNode;
use ogive_research::models::{hist_tree, plr, radix_spline, rmi};

/// A builder of line nodes, with its error, or its number of leaves, bins or children.
type Build = fn(&FenceRun<'_>, u64) -> Vec<LineNode>;

/// The builders of this crate.
const BUILDERS: &[(&str, Build)] = &[
    REGRESSIONS[0],
    REGRESSIONS[1],
    ("linear rmi", |run, leaves| rmi::lines(run, rmi::RootKind::Linear, leaves as usize)),
    ("cubic rmi", |run, leaves| rmi::lines(run, rmi::RootKind::Cubic, leaves as usize)),
    ("radix rmi", |run, leaves| rmi::lines(run, rmi::RootKind::Radix, leaves as usize)),
    ("radix table", |run, bins| hist_tree::lines(run, bins, u64::MAX)),
    ("hist-tree", |run, children| hist_tree::lines(run, 4, children)),
];

/// Those that keep an error.
const REGRESSIONS: &[(&str, Build)] = &[("plr", plr::greedy), ("spline", radix_spline::lines)];
