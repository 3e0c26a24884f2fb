//! The experiments of "Evaluating Learned Indexes for External-Memory Joins" (2024), one file each or one for several
//! similar ones, and those of our own planner.
//!
//! A modelled time is the time by a profile of the reads of a join and of the reads and writes of its spill files, plus
//! processor time, without slowing anything down and without overlap. It does not show the effect of kernel read-ahead
//! on hard disks that the paper reports. An emulated time is the elapsed time where reads and writes are slowed down to
//! a profile, so that they overlap as on a device. A measured time is that of this device, with direct reads unless a
//! row says `cached`.

mod auto;
mod coded;
mod cold;
mod emulated;
mod figures;
mod indexes;
mod place;
mod plain;
mod relations;
mod rounds;
mod threads;
mod unsorted;

pub(crate) use auto::AUTO;
pub(crate) use coded::CODED;
pub(crate) use cold::COLD;
pub(crate) use figures::{FIG3, STRINGS};
pub(crate) use indexes::{FIG7, TABLE2};
pub(crate) use plain::MERGE;
pub(crate) use threads::{FIG5, FIG6};
pub(crate) use unsorted::{FIG4, PARTITION};
