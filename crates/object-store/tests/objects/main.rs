//! Object stores: answers, reads, writes, tables, faults, counts of requests, and runtimes of callers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod backups;
mod cache;
mod counts;
mod faults;
mod faulty_store;
mod futures;
mod reads;
mod runtimes;
mod secrets;
mod spoiled;
mod stores;
mod tables;
mod writes;
