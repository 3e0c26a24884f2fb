//! The experiments of Bourbon (OSDI 2020), one file each or one for several similar ones.
//!
//! Sizes keep the proportions of the paper: levels have the same relation to the data, so a run of some hundred
//! thousand keys has as many levels. Times are processor times. Everything, including flushes, compactions and
//! learning, runs in one thread, so that time can be attributed. Devices are priced by a profile.

mod breakdown;
mod datasets;
mod devices;
mod error_bound;
mod internal_lookups;
mod learned;
mod levels;
mod lifetimes;
mod load_orders;
mod model_places;
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

pub(crate) use breakdown::{FIG2, FIG8};
pub(crate) use datasets::{FIG9, FIG15};
pub(crate) use devices::{FIG16, TABLE2, TABLE3};
pub(crate) use error_bound::FIG17;
pub(crate) use internal_lookups::FIG4;
pub(crate) use levels::FIG5;
pub(crate) use lifetimes::FIG3;
pub(crate) use load_orders::FIG10;
pub(crate) use model_places::{FIND_TABLE, IN_BLOCK};
pub(crate) use policies::{FIG13, TABLE1, VARIANTS};
pub(crate) use ranges::FIG12;
pub(crate) use request_distributions::FIG11;
pub(crate) use ycsb::FIG14;
