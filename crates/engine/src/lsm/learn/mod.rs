//! Learned tables: models of the positions of keys, and policies that choose the tables to learn (Bourbon, Section 4).
//!
//! `model` is a greedy piecewise linear regression over the record positions of a table or a level. `times` samples the
//! cost of lookups on either path; `analyzer` compares the savings of a model with its cost; `learner` schedules
//! learning and keeps the models within their memory.

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
