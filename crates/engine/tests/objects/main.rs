//! Tests of stores on an object store: openings at once, writers that sleep or die, readers, and counts of requests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod backups;
mod copies;
mod crashes;
mod damage;
mod fencing;
mod groups;
mod listings;
mod long_reads;
mod readers;
mod removed;
mod requests;
mod simulator;
mod support;
