//! Experiments at small size, key sets, workloads and the command.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod airindex;
mod bourbon;
mod command;
mod files;
mod hardness;
mod indexes;
mod joins;
mod keys;
mod papers;
mod stores;
mod targets;
mod workload;
