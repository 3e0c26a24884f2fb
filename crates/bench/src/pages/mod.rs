//! Pages and pictures of experiments, from the records that `ogive-bench run --json` prints.
//!
//! - [`Run`]: the records of a run, with its machine and its command;
//! - [`page`]: all runs on one page, beside the figures of the papers;
//! - [`picture`]: one picture as SVG, for documents;
//! - `sketches`: which fields of an experiment are drawn, and how;
//! - `published`: figures of the papers.

mod draw;
mod named;
mod page;
mod published;
mod row;
mod run;
mod sketch;
mod sketches;
#[cfg(test)]
mod tests;

pub use named::picture;
pub use page::page;
pub use run::Run;
