//! Which keys are looked up: chosen by rank, then read off one pass over the key set, which is never held.
//!
//! - `present`: every record is as likely as any other;
//! - `absent`: a key from the gap behind a random record, so that every part of the table is asked as often;
//! - `zipf:SKEW`: record of popularity rank r with a probability proportional to r^-SKEW, popular records scattered over
//!   the key space (AirIndex, Figure 19: 0.5, 1.0 and 2.0);
//! - a path that ends in `.u32`: the accesses of a recorded trace, whose distinct numbers are spread evenly and in order
//!   over the records, so that what lay close together still does.

//!
//! What goes to an index that is updated in place is a [`Mix`] of operations over a [`Population`], which says what is
//! bulk-loaded and what comes in later; [`Requests`] chooses among the keys that are there by then. A store has [`Records`], with
//! keys and values as bytes, and a [`StoreMix`], YCSB's workloads among them.

mod lookups;
mod mix;
mod population;
mod positions;
mod records;
mod requests;
mod store_mix;
mod trace;
mod zipf;

pub use mix::{COMMIT_OPERATIONS, Mix, Operation, SCAN_ENTRIES};
pub use population::Population;
pub use positions::Workload;
pub use records::{Asked, KeyForm, Records};
pub use requests::{Chooser, Requests};
pub use store_mix::{StoreMix, StoreOperation};
pub use zipf::ZipfRanks;
