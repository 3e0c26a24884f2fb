//! Results of experiments, printed as lines of JSON or rows of a text table.
//!
//! A record starts with `experiment`, `keys`, `profile` and `design`; figures follow, named with their units last
//! (`modelled_us`, `index_bytes`). A figure measured several times comes as its median, with `_min` and `_max` beside
//! it.

mod layout;
mod machine;
mod record;
mod reporter;
mod spread;

pub use machine::machine;
pub(crate) use record::ERROR;
pub use record::{Figure, Record};
pub use reporter::Reporter;
pub use spread::Spread;
