//! The experiments of Bourbon (OSDI 2020), one file for each or for a few that differ in what they compare.
//!
//! The paper's sizes are kept in proportion: a level is to the data what it is there, so that a run of some hundred thousand keys has as many
//! levels as the paper's. Times are those of the processor. Where time is spent is told apart by running everything in one thread, flushes, compaction and
//! learning included. Devices are priced by a profile.

mod breakdown;
mod datasets;
mod devices;
mod error_bound;
mod internal_lookups;
mod learned;
mod levels;
mod lifetimes;
mod load_orders;
mod policies;
mod ranges;
mod request_distributions;
mod setting;
mod store;
mod subjects;
mod table_watch;
mod turns;
mod watched;
mod ycsb;

pub(super) use breakdown::{FIG2, FIG8};
pub(super) use datasets::{FIG9, FIG15};
pub(super) use devices::{FIG16, TABLE2, TABLE3};
pub(super) use error_bound::FIG17;
pub(super) use internal_lookups::FIG4;
pub(super) use levels::FIG5;
pub(super) use lifetimes::FIG3;
pub(super) use load_orders::FIG10;
pub(super) use policies::{FIG13, TABLE1};
pub(super) use ranges::FIG12;
pub(super) use request_distributions::FIG11;
pub(super) use ycsb::FIG14;
