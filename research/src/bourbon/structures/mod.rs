//! Bourbon: learned models of the tables of a store (Dai et al., OSDI 2020), and breakdowns of lookups.
//!
//! [`Bourbon`] is a learning policy of [`ogive::lsm::Db`], by the extension API of stores. `model` is a greedy
//! piecewise linear regression over the record positions of a table or a level, `shape` has models of other shapes.
//! `guide` searches a table by a model, or as LevelDB does. `analyzer` compares the savings of a model with its cost;
//! `learner` schedules learning and keeps the models within their memory. `steps` times the steps of lookups.
//!
//! ```
//! use ogive::lsm::{Db, DbOptions};
//! use ogive_research::bourbon::{Bourbon, LearningRule};
//! use std::sync::Arc;
//!
//! let storage = Arc::new(ogive::io::MemoryStorage::new());
//! let learning = Bourbon { error: 4, ..Bourbon::new(LearningRule::Offline) }.into();
//! let db = Db::open(storage, &DbOptions::default().learning(learning))?;
//! db.insert("apple", "red")?;
//! db.flush()?;
//! db.learn()?;
//! assert_eq!(db.learning_stats().models, 1);
//! # Ok::<(), ogive::Error>(())
//! ```

mod analyzer;
mod guide;
mod key_fences;
mod last_keys;
mod learner;
mod level;
mod model;
mod policy;
mod registration;
mod shape;
mod steps;
#[cfg(test)]
mod store_tests;
mod tables;

pub use policy::{Bourbon, ExpectedLookups, LearningRule, ModelReads, ModelScope};
pub use registration::register;
pub use shape::{ModelShape, ShapeChoice};
pub use steps::{LookupSteps, StepTimer};
