//! Workloads: requested keys are drawn by rank, then collected in one pass over the key set, which is streamed.
//!
//! - `present`: every record with equal probability;
//! - `absent`: a key from the gap after a random record, so that all parts of the table are requested equally;
//! - `zipf:SKEW`: record of popularity rank r with a probability proportional to r^-SKEW, popular records scattered
//!   over the key space (AirIndex, Figure 19: 0.5, 1.0 and 2.0);
//! - a path that ends in `.u32`: the accesses of a recorded trace, whose distinct numbers are spread evenly and in
//!   order over the records, which preserves locality.
//!
//! The workload of an updatable index is a [`Mix`] of operations over a [`Population`], which defines the bulk-loaded
//! and the inserted keys; [`Requests`] draws from the keys present. A store has [`Records`], with keys and values as
//! bytes, and a [`StoreMix`], which includes the YCSB workloads.

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
