//! # Test support for Ogive
//!
//! - [`SimulatedDisk`]: a disk that loses, reorders and tears unsynced writes, with [`enumerate_crashes`] to try every
//!   point at which power can be lost.
//! - [`SimulatedObjects`]: an object store whose clients die, sleep, and send requests late, twice or never.
//! - [`FaultInjector`]: fails the k-th call to the storage.
//! - [`BadSectors`]: a device that cannot read parts of files.
//! - [`ReferenceTable`]: the expected answers of a table.
//! - [`MovedRange`], [`MovedList`]: the expected records of a range whose ends are moved.
//! - [`key_sets`]: keys that have broken learned indexes.
//! - [`fast_paths`]: settings of the fast paths.
//! - [`check_history`]: searches histories of transactions for anomalies.
//! - [`index`], [`kinds`]: the tests that every structure and every kind of index passes.
//! - [`shapes`]: random shapes of input for writers.
//! - [`seeds`]: the seeds of random tests, with the command that [repeats](Repeat) a failure.
//! - [`PeakAlloc`]: an allocator that counts.

mod bad_sectors;
mod crash;
mod disk;
pub mod fast_paths;
mod fault;
mod histories;
mod image;
pub mod index;
mod joined;
pub mod key_sets;
pub mod kinds;
mod model;
mod moved_range;
mod objects;
mod random;
mod repeat;
pub mod shapes;

pub use bad_sectors::BadSectors;
pub use crash::{CrashFailure, CrashOptions, CrashPoint, CrashReport, check_crashes, enumerate_crashes};
pub use disk::SimulatedDisk;
pub use fault::{Fault, FaultInjector, Operation, enumerate_faults};
pub use histories::{Ending, HistoryTransaction, ListRead, check_history};
pub use image::Survival;
pub use joined::joined_values;
pub use model::{Record, ReferenceTable};
pub use moved_range::{MovedList, MovedRange};
pub use objects::{Mishap, ObjectClient, SimulatedObjects};
/// Counts the bytes allocated now and at most. In a test binary of its own:
/// `#[global_allocator] static ALLOCATOR: PeakAlloc = PeakAlloc;`, then `reset_peak_usage` and `peak_usage`.
pub use peak_alloc::PeakAlloc;
pub use random::Random;
pub use repeat::{Repeat, named_seed, seeds};
