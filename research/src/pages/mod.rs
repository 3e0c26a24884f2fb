//! Pages and pictures of experiments, from the records that `ogive-research run --json` prints.
//!
//! - [`Run`]: the records of a run, with its machine and its command;
//! - [`page`]: all runs on one page, beside the figures of the papers;
//! - [`picture`]: one picture as SVG, for documents;
//! - `registry`: what is drawn of an experiment, and how; the sketches are in the folders of the papers;
//! - `published`: figures of the papers; their claims are in [`crate::paper`].

mod draw;
mod named;
mod page;
mod published;
mod registry;
mod row;
mod run;
pub(crate) mod sketch;
#[cfg(test)]
mod tests;

pub use named::picture;
pub use page::page;
pub(crate) use page::{facts, machines, results_of};
pub use row::RunRow;
pub(crate) use row::{base_set, shown};
pub use run::Run;
