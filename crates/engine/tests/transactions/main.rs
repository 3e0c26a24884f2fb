//! Transactions of stores: anomalies that they rule out, conflicts, ranges over own writes, histories of many threads
//! with kills, and crashes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod anomalies;
mod conflicts;
mod crash;
mod histories;
mod own_writes;
mod seeks;
mod support;
mod typed;
mod unknown_outcomes;
