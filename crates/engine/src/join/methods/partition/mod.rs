//! The learned partition join: sorts unsorted relations bucket by bucket.
//!
//! ```text
//! sample of both -> sorted -> distribution        key -> rank, about -> bucket
//!
//! left   9 2 7 1 8 3  --scatter-->  | 2 1 3 | 9 7 8 |  --load, sort-->  1 2 3 7 8 9
//! right  8 3 3 9 1    --scatter-->  | 3 3 1 | 8 9   |  --load, sort-->  1 3 3 8 9
//!                                     equal borders, ranges of keys
//! ```
//!
//! A model of the key distribution, learned from a sample of both relations, maps a key to its bucket; since the model
//! is monotone, buckets are ranges of keys. Each relation is read once and written once, into buckets small enough to
//! be sorted in a core's cache when they are loaded, which avoids sorting the whole and merging runs. The result is a
//! relation in key order, which any method for sorted relations can join; bucket pairs of which one side is empty are
//! not loaded.
//!
//! The model only affects how evenly buckets are filled. A bucket larger than memory, because the sample was not
//! representative or a key has more rows than memory, is sorted externally when it is loaded. A relation that fits
//! memory is sorted there and never written.
//!
//! Source: Chesetti and Pandey, Sections 4.1 and 5.4. Theirs has buckets of a page, writes eight keys at a time, keeps
//! a model and a map of buckets for each relation, and loads the other relation's bucket for each key.

mod borders;
mod copy_job;
mod dense;
mod general;
mod model;
mod plan;
mod relation;
mod sample;
mod scatter;
#[cfg(test)]
mod tests;
mod window;

pub use copy_job::ArrivingRows;
pub(crate) use copy_job::copies_by;
pub(crate) use general::{FRAME_BYTES, frame, framed};
pub(crate) use plan::{flush_bytes, sorted_copies};
pub(crate) use scatter::{Buckets, Scatter};
