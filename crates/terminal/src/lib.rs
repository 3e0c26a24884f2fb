//! Sizes, counts, times, mistyped names and words of command lines, as programs read and write them; with
//! the feature `progress`, the progress of long work.

#![doc = include_str!("../README.md")]

mod closest;
mod count;
#[cfg(feature = "progress")]
mod progress;
mod shell;
mod size;

pub use closest::{closest, did_you_mean};
pub use count::{counted, grouped, the_first};
#[cfg(feature = "progress")]
pub use progress::{PhasedProgress, Progress, Unit};
pub use shell::shell_word;
pub use size::{ByteSize, duration, exact_size, human_bytes, human_us};
