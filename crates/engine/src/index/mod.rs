//! Ordered indexes that are updated in place on disk.
//!
//! An index maps keys of a fixed width to payloads of a fixed size. What it is made of is a [`Structure`]: its nodes are pages of a
//! [`PageFile`](crate::page::PageFile), which makes commits atomic, so that a structure need not think of crashes, readers or durability. Most
//! structures are B+-tree leaves under an inner structure that finds the leaf, a [`Router`].

pub mod alex;
pub mod aulid;
pub mod btree;
pub mod fiting;
#[cfg(test)]
mod harness;
pub mod hybrid;
pub mod leaves;
pub mod lipp;
pub mod ogive;
mod options;
pub mod pgm;
mod router;
mod structure;
mod word;

pub use options::{IndexLayout, Kind};
pub use router::{Gap, Router, RouterBuilder};
pub use structure::{Amount, Cursor, Entries, LevelStatistics, Statistics, Structure, Visit, Visitor};
pub use word::Word;
