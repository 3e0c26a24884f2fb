//! The planner: gathers statistics of both relations, predicts the cost of each method, and chooses the cheapest.
//!
//! Costs follow the affine and the PDAM model (Chesetti and Pandey, Sections 3 and 4.2) with the measured profile T(n)
//! and P in place of their constants, the actual request sizes of the methods, and measured rates for processor work.
//!
//! | prices | of |
//! |---|---|
//! | `unsorted` | hash, partition, and sorting |
//! | `sorted` | merge, lookups, and what all share: scans, kernel, output |
//! | `cost_model` | registered methods |
//!
//! They add up reads and writes (`cost`) of a device (`device`), and work of the processor (`rates`).

mod cached;
mod choose;
mod cost;
mod cost_model;
mod device;
mod gather;
mod rates;
mod sorted;
mod spread;
mod unsorted;

pub use cached::cached_profile;
pub(super) use gather::{Plan, plan};
