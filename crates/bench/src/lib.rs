//! Key sets, workloads and the experiments of the papers, for the `ogive-bench` command and for tests.
//!
//! - [`keys`]: sorted key sets, made by name (`lognormal:10M:seed=3`) or read from a file, streamed without being held;
//! - [`workload`]: which keys are looked up: uniform, absent, Zipf, or along a recorded trace;
//! - [`output`]: one [`output::Record`] for each result, as a line of JSON or a row of a table;
//! - [`experiments`]: what `ogive-bench run NAME` can run.
//! - [`stopwatch`]: time of the processor beside time that passes.
//!
//! The same name and seed give the same keys on every machine: [`math`] uses nothing but IEEE addition, multiplication,
//! division and square root, and [`random`] nothing but integers.

pub mod error;
pub mod experiments;
pub mod keys;
pub mod math;
pub mod output;
pub mod random;
pub mod stopwatch;
pub mod workload;

pub use error::{Error, Result};
pub use keys::{KeySet, open};
