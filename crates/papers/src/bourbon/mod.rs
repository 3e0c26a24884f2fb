//! Bourbon: breakdowns of lookups in a store (Dai et al., OSDI 2020).

mod steps;

pub use steps::{LookupSteps, StepTimer};
