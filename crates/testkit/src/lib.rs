//! # Test support for Ogive
//!
//! A [`SimulatedDisk`] that forgets, reorders and tears what was not synced, with [`enumerate_crashes`] to try every
//! point at which the power can go; a [`FaultInjector`] that fails the k-th call; the [`ReferenceTable`] that says what
//! a table must answer; the [`key_sets`] that have broken learned indexes; settings of [`fast_paths`]; the tests that
//! every structure of an [`index`] and every [kind](kinds) of index passes; the [`shapes`] of input that writers are
//! held against; the [`seeds`] of what is drawn, with the command that [repeats](Repeat) a failure; and [`PeakAlloc`],
//! an allocator that counts.

mod crash;
mod disk;
pub mod fast_paths;
mod fault;
mod image;
pub mod index;
pub mod key_sets;
pub mod kinds;
mod model;
mod random;
mod repeat;
pub mod shapes;

pub use crash::{CrashFailure, CrashOptions, CrashPoint, CrashReport, enumerate_crashes};
pub use disk::SimulatedDisk;
pub use fault::{Fault, FaultInjector, Operation, enumerate_faults};
pub use image::Survival;
pub use model::{Record, ReferenceTable};
/// Counts the bytes allocated now and at most. In a test binary of its own:
/// `#[global_allocator] static ALLOCATOR: PeakAlloc = PeakAlloc;`, then `reset_peak_usage` and `peak_usage`.
pub use peak_alloc::PeakAlloc;
pub use random::Random;
pub use repeat::{Repeat, named_seed, seeds};
