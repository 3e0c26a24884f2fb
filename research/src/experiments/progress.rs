//! Progress of experiments.

use std::fmt::Display;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error, hidden unless that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// For this number of steps.
    pub(crate) fn new(steps: usize) -> Result<Self> {
        let style = ProgressStyle::with_template("{pos}/{len} {wide_msg} {eta} left")?;
        Ok(Self { bar: ProgressBar::new(steps as u64).with_style(style) })
    }

    /// Sets the description of the current step.
    pub(crate) fn on(&self, what: impl Display) {
        self.bar.set_message(what.to_string());
    }

    /// Counts a finished step.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
