//! The experiments of "Evaluating Learned Indexes for External-Memory Joins" (2024), one file for each or for a few that differ in
//! what they compare, and those of our own planner.
//!
//! A modelled time is the time that a profile asks for the reads of a join, and the reads and writes of its spill files, plus the time of the
//! processor; nothing is slowed down, and nothing overlaps. It cannot show what the paper saw of the kernel's reading ahead on hard disks.
//! A measured time is that of the device at hand, by direct reads unless a row says `cached`.

mod auto;
mod figures;
mod indexes;
mod place;
mod plain;
mod relations;
mod rounds;
mod threads;
mod unsorted;

pub(super) use auto::AUTO;
pub(super) use figures::{FIG3, STRINGS};
pub(super) use indexes::{FIG7, TABLE2};
pub(super) use plain::MERGE;
pub(super) use threads::{FIG5, FIG6};
pub(super) use unsorted::{FIG4, PARTITION};
