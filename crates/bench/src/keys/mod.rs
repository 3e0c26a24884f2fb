//! Sorted key sets: made by name, or read from SOSD and text files; streamed, never held.
//!
//! A key set is asked for by name, `NAME[:COUNT][:seed=S][:OPTION=VALUE]...` (see [`spec`]), or by the path of a file.
//! `ogive-bench list` prints the names; [`generators`] is the same list.
//!
//! How 800 million sorted keys come out of a few kilobytes: [`uniforms`] draws sorted uniform numbers by halving the
//! space and tossing a fair coin for each number, depth first, until few enough are left to sort. Every smooth
//! distribution is a monotone function of them. A key that would repeat in a set of distinct keys becomes the next free
//! integer, so that exactly as many come out as were asked for.

mod arithmetic;
mod catalog;
mod distributions;
mod hardness;
mod nasty;
mod poison;
mod set;
mod sosd;
mod source;
pub mod spec;
mod summary;
mod text;
pub mod uniforms;
mod zipf;

pub use catalog::{Generator, generators};
pub use set::{KeySet, open, open_with};
pub use sosd::{SosdReader, write_sosd};
pub use source::KeyStream;
pub use summary::{Summary, summarise};
pub use text::Lines;
