//! Bourbon (Dai et al., OSDI 2020): learned models for the tables of stores; its policies, experiments, claims, and
//! what is drawn.

pub(crate) mod claims;
pub(crate) mod experiments;
pub(crate) mod sketches;
pub mod structures;

pub use structures::{
    Bourbon, ExpectedLookups, LearningRule, LookupSteps, ModelReads, ModelScope, ModelShape, ShapeChoice, StepTimer,
    register,
};
