//! The memtable: what was written last, in order, while it is written.
//!
//! A skiplist (W. Pugh, "Skip lists: a probabilistic alternative to balanced trees", CACM 1990) without a lock for readers. One thread
//! inserts at a time. Nodes are words of an arena that grows by chunks and never moves; keys and values stay in the buffers of
//! the groups that brought them.
//!
//! ```text
//!   arena of words    | place of the key 32, low coordinate 32 | group 32, length of the key 32 | sequence 56, kind 8 | link 0 | link 1 ..
//!   link              | high coordinate of the node it leads to 32 | number of that node 32 |
//!   coordinate        the 8 bytes of a key behind the prefix that the memtable's keys share
//! ```
//!
//! A *guide*, made anew from time to time, leads to the tall nodes; a search takes its last few steps alone in the list.
//! A link carries half of the coordinate of the node that it leads to, so most comparisons do not touch that node. Where
//! coordinates tie, whole keys decide.

mod arena;
mod coordinate;
mod cursor;
mod guide;
mod handle;
mod insert;
mod list;
#[cfg(test)]
mod schedule_tests;
#[cfg(test)]
mod tests;

pub(crate) use coordinate::number_of;
pub(crate) use handle::Memtable;
