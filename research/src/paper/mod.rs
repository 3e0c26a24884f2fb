//! The papers, each as one run: every figure and table with what the paper says, our figures, and a verdict.
//!
//! - [`Paper`], [`Item`], [`Claim`]: the plan of a paper, which is in `claims` of its folder; [`papers`] lists them;
//! - [`Step`], [`Scale`]: an experiment with its settings by the size of the run;
//! - [`run`]: runs the steps into a folder, one file each, and resumes;
//! - [`PaperResults`]: the results, judged; [`markdown`] and [`html`] show them;
//! - [`diff`]: the figures of two results that differ by more than the noise.
//!
//! A claim is judged by a function over the records of the steps of its item, never by figures of the source code. So
//! the same verdicts can be given again for results from another machine.

mod catalog;
mod command;
mod diff;
mod estimate;
mod html;
pub(crate) mod judging;
mod markdown;
mod options;
pub(crate) mod plan;
mod results;
pub(crate) mod rows;
mod runner;
pub(crate) mod scale;
pub(crate) mod step;
pub(crate) mod verdict;

pub use catalog::{claims_of, named, papers};
pub use command::command_of;
pub(crate) use command::quoted;
pub use diff::{Difference, Differences, TIMING_TOLERANCE, diff};
pub use html::html;
pub use markdown::markdown;
pub use options::PaperOptions;
pub use plan::{Claim, Item, Paper};
pub use results::{JudgedClaim, MissingRun, PaperResults, StepResult};
pub use rows::{Rows, Span};
pub use runner::run;
pub use scale::Scale;
pub use step::Step;
pub use verdict::Verdict;
