//! Learning tables: models of where their keys lie, and which tables are worth one (Bourbon, Section 4).
//!
//! `model` is a greedy piecewise linear regression over the positions of a table's records, or of a level's. `times` keeps, from a
//! sample, what look-ups cost on either path; `analyzer` weighs what a model would save against what it costs; `learner` decides
//! what is learned when, and keeps the models within their memory.

mod analyzer;
mod learner;
mod level;
mod model;
#[cfg(test)]
mod store_tests;
mod times;

pub use learner::LearningStats;
pub(crate) use learner::{LearnTask, Learner};
pub(crate) use level::LevelModel;
pub(crate) use model::{ModelBuilder, PositionModel};
pub(crate) use times::{Sample, Times};
