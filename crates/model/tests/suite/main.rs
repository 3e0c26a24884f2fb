//! Models, structures and routers: bounds, hostile bytes, nasty key sets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod hardness;
mod hints;
mod inner;
mod leads_home;
mod router;
mod steps;
mod stored;
mod windows;

use ogive_model::line::LineNode;
use ogive_model::{FenceRun, band, pla};

/// A builder of line nodes, with its window, group or error.
type Build = fn(&FenceRun<'_>, u64) -> Vec<LineNode>;

/// The builders of this crate.
const BUILDERS: &[(&str, Build)] = &[("greedy band", band::greedy), ("equal band", band::equal), REGRESSIONS[0]];

/// Those that keep an error.
const REGRESSIONS: &[(&str, Build)] = &[("pla", pla::optimal)];
