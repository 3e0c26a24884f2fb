//! Stores for programs that are asynchronous: calls as futures, on any runtime.
//!
//! Calls wait on threads of a bounded pool. A crate of a storage may let lookups and scans wait without threads, by a
//! caller of its own (`calls`).

pub(in crate::lsm) mod async_db;
pub(in crate::lsm) mod async_range;
pub(in crate::lsm) mod calls;
mod in_memory;
