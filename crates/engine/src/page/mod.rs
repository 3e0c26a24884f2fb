//! Pages that survive crashes: the layer under every index that is updated in place.
//!
//! A [`PageFile`] is a file of pages of one size. Readers take a [`Snapshot`]; the one writer takes a [`Transaction`], whose
//! changes become visible, all together, by its commit. Both are [`Pages`] to those who read them. `page` knows no index: what
//! a page means is the business of whoever wrote it.

mod file;
mod pages;
mod tally;
mod transaction;

pub use file::{PageFile, PageOptions, Snapshot};
pub use pages::{Page, PageNumber, Pages};
pub use tally::{Phase, PhaseTally, Tally};
pub use transaction::{PageEdit, Transaction};
