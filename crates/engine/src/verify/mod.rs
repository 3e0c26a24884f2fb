//! Verification of whole stores.
//!
//! [`verify_store`] trusts nothing: it reads each file that the manifest names to its last byte (`tables`, `values`,
//! `logs`), compares it with the manifest, and follows every pointer (`pointers`). Tables and indexes verify
//! themselves: [`Table::verify`](crate::table::Table::verify), [`Index::verify`](crate::index::Index::verify).

mod logs;
mod pointers;
pub(crate) mod report;
pub(crate) mod store;
pub(crate) mod tables;
pub(crate) mod values;

pub use report::{StoreFinding, StoreReport};
pub(crate) use store::verify_closed;
pub use store::verify_store;
#[doc(hidden)]
pub use store::verify_store_within;
