//! Sizes, counts, times and mistyped names, as programs read and write them.

#![doc = include_str!("../README.md")]

mod closest;
mod count;
mod size;

pub use closest::{closest, did_you_mean};
pub use count::{counted, grouped, the_first};
pub use size::{ByteSize, exact_size, human_bytes, human_us};
