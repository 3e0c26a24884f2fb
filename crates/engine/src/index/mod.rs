//! Ordered indexes that are updated in place on disk.
//!
//! An index maps keys of a fixed width to payloads of a fixed size. What it is made of is a [`Structure`]: its nodes are pages of a
//! [`PageFile`](crate::page::PageFile), which makes commits atomic, so that a structure need not think of crashes, readers or durability. Most
//! structures are B+-tree leaves under an inner structure that finds the leaf, a [`Router`].

pub mod alex;
pub mod aulid;
pub mod btree;
pub mod fiting;
mod handle;
#[cfg(test)]
mod harness;
mod header;
pub mod hybrid;
mod key;
mod kinds;
pub mod leaves;
pub mod lipp;
mod load;
pub mod ogive;
mod options;
mod packed;
mod payload;
pub mod pgm;
mod range;
mod reader;
mod router;
mod shared;
mod structure;
mod tunables;
mod verify;
mod view;
mod word;
mod write;

pub use handle::Index;
pub use key::{Key, KeyType, Raw};
pub use options::{IndexLayout, IndexOptions, Kind, OpenOptions};
pub use payload::Payload;
pub use range::Range;
pub use reader::Reader;
pub use router::{Gap, Router, RouterBuilder};
pub use structure::{Amount, Cursor, Entries, LevelStatistics, Statistics, Structure, Visit, Visitor};
pub use verify::VerifyReport;
pub use word::Word;
pub use write::WriteTransaction;
