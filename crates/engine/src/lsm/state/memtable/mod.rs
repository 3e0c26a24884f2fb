//! The memtable: an in-memory sorted map of the newest entries of a keyspace, readable while it is written.
//!
//! It is a skiplist (W. Pugh, "Skip lists: a probabilistic alternative to balanced trees", CACM 1990) whose readers
//! take no lock. One thread inserts at a time. Nodes are words of an arena that grows by chunks and never moves; keys
//! and values stay in the buffers of the groups that contained them.
//!
//! ```text
//!   node         | key offset 32, low half of key prefix 32 | group 32, key length 32 | sequence 56, kind 8 | links ..
//!   link         | high half of the target's key prefix 32 | target node 32 |
//!   key prefix   the 8 bytes of a key behind the prefix that the memtable's keys share
//! ```
//!
//! A *guide*, rebuilt from time to time, leads to the tall nodes, so a search takes only its last few steps in the
//! list. A link contains half of the key prefix of its target, so most comparisons do not touch the target. Where key
//! prefixes are equal, whole keys are compared.

mod arena;
mod cursor;
mod guide;
mod handle;
mod insert;
mod key_prefix;
mod list;
#[cfg(test)]
mod schedule_tests;
#[cfg(test)]
mod tests;

pub(crate) use handle::Memtable;
