//! Transfers between accounts: two keys are read, and both are written by what was read, in one transaction.
//!
//! The accounts are loaded by the batches of the other workloads; then each thread moves money at random. A transfer
//! that meets a conflict runs again until it is committed. When the clock has stopped, the store is opened anew, and
//! the sum of all balances has to be what it was.

mod bank;
mod compare;
#[cfg(feature = "fjall")]
mod fjall;
#[cfg(feature = "lmdb")]
mod lmdb;
mod ogive;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "sqlite")]
mod sqlite;

pub(crate) use compare::run;
