//! Which keys are looked up: chosen by rank, then read off one pass over the key set, which is never held.
//!
//! - `present`: every record is as likely as any other;
//! - `absent`: a key from the gap behind a random record, so that every part of the table is asked as often;
//! - `zipf:SKEW`: record of popularity rank r with a probability proportional to r^-SKEW, popular records scattered over
//!   the key space (AirIndex, Figure 19: 0.5, 1.0 and 2.0);
//! - a path that ends in `.u32`: the accesses of a recorded trace, whose distinct numbers are spread evenly and in order
//!   over the records, so that what lay close together still does.

mod lookups;
mod positions;
mod trace;
mod zipf;

pub use positions::Workload;
pub use zipf::ZipfRanks;
