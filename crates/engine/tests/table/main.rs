//! Tables: reference model, crashes, damage, faults, keys, reads, sorting and external data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod crash;
mod damage;
mod designs;
mod external;
mod faults;
mod key_types;
mod keys;
mod layers_of_strings;
mod named;
mod nasty_keys;
mod objects;
mod reads;
mod reference;
mod repair;
mod sorting;
mod support;
mod value_types;
