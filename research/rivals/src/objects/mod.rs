//! Stores on an object store: Ogive beside SlateDB, each on a store in memory that waits as a real one does.
//!
//! The machine hardly matters: what is measured are requests and their times, 40 ms and 90 MB/s each, 64 at once.

mod compare;
mod ogive;
mod slatedb;
mod throttle;

pub(crate) use compare::run;
