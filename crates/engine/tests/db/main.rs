//! The store: reference model, crashes, damage, faults, folders, ingestion, opening and repair.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod archive;
mod archive_faults;
mod backups;
mod batches;
mod closing;
mod collection;
mod crash;
mod damage;
mod debts;
mod faults;
mod folders;
mod identity;
mod ingest;
mod keys_only;
mod keyspace_options;
mod learning;
mod least_memory;
mod linear;
mod live;
mod model;
mod opening;
mod outcomes;
mod puts;
mod reads;
mod reference;
mod repair;
mod repair_foreign;
mod room;
mod scans;
mod scrub;
mod seeks;
mod skips;
mod small_tables;
mod stats;
mod support;
mod types;
mod verify;
mod waiting;
