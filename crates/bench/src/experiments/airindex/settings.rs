//! Settings shared by these experiments: key sets, profiles, designs, threads.

use anyhow::Result;
use ogive::io::{Profile, available_threads};
use ogive::tune::{DesignRequest, SearchOptions};

use super::super::Context;
pub(super) use super::super::progress::Progress;

/// The key sets with known figures of AirIndex.
pub(super) const KEY_SETS: [&str; 3] = ["lognormal", "uniform", "step"];

/// The requested profiles, else `default`.
pub(super) fn profiles(context: &Context, default: &[&str]) -> Result<Vec<Profile>> {
    context.profiles_or(default)
}

/// The requested designs, else `default`.
pub(super) fn designs(context: &Context, default: &[&str]) -> Result<Vec<DesignRequest>> {
    let parse = |name: &str| Ok(name.parse::<DesignRequest>()?);
    match context.designs.as_slice() {
        [] => default.iter().map(|name| parse(name)).collect(),
        asked => asked.iter().map(|name| parse(name)).collect(),
    }
}

/// The default search, on all processors.
pub(super) fn search() -> SearchOptions {
    SearchOptions::default().threads(available_threads())
}
