//! What all of these experiments choose alike: key sets, profiles, threads, and how far they are.

use std::fmt::Display;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use ogive::io::{Profile, available_threads};
use ogive::tune::{DesignRequest, Options};

use super::super::Context;

/// The key sets of which AirIndex's own figures are known.
pub(super) const KEY_SETS: [&str; 3] = ["lognormal", "uniform", "step"];

/// The profiles that were asked for, or else `default`.
pub(super) fn profiles(context: &Context, default: &[&str]) -> Result<Vec<Profile>> {
    let open = |name: &str| Ok(Profile::by_name_or_file(name)?);
    match context.profiles.as_slice() {
        [] => default.iter().map(|name| open(name)).collect(),
        asked => asked.iter().map(|name| open(name)).collect(),
    }
}

/// The designs that were asked for, or else `default`.
pub(super) fn designs(context: &Context, default: &[&str]) -> Result<Vec<DesignRequest>> {
    let parse = |name: &str| Ok(name.parse::<DesignRequest>()?);
    match context.designs.as_slice() {
        [] => default.iter().map(|name| parse(name)).collect(),
        asked => asked.iter().map(|name| parse(name)).collect(),
    }
}

/// The search as it is by default, on all processors.
pub(super) fn search() -> Options {
    Options { threads: available_threads(), ..Options::default() }
}

/// A bar on standard error, invisible where nobody watches.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Of so many steps.
    pub(super) fn new(steps: usize) -> Result<Self> {
        let style = ProgressStyle::with_template("{pos}/{len} {wide_msg} {eta} left")?;
        Ok(Self { bar: ProgressBar::new(steps as u64).with_style(style) })
    }

    /// Says what is done now.
    pub(super) fn on(&self, what: impl Display) {
        self.bar.set_message(what.to_string());
    }

    /// One step is done.
    pub(super) fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
