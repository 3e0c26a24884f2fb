//! Stores whose tables are searched by the learning policies of this crate. Goal: answers, crashes, damage and faults
//! are as without models. Method: the engine's tests that draw the options of a store, with policies drawn from those
//! of this crate.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod learning;

#[path = "../../../crates/engine/tests/db/backups.rs"]
mod backups;
#[path = "../../../crates/engine/tests/db/crash.rs"]
mod crash;
#[path = "../../../crates/engine/tests/db/damage.rs"]
mod damage;
#[path = "../../../crates/engine/tests/db/debts.rs"]
mod debts;
#[path = "../../../crates/engine/tests/db/faults.rs"]
mod faults;
#[path = "../../../crates/engine/tests/db/least_memory.rs"]
mod least_memory;
#[path = "../../../crates/engine/tests/db/live.rs"]
mod live;
#[path = "../../../crates/engine/tests/db/model/mod.rs"]
mod model;
#[path = "../../../crates/engine/tests/db/reference.rs"]
mod reference;
#[path = "../../../crates/engine/tests/db/small_tables.rs"]
mod small_tables;
#[path = "../../../crates/engine/tests/db/support/mod.rs"]
mod support;
