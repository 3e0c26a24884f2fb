//! The options of a join: kind, memory, threads and storage profile.

mod join_options;
mod kind;
mod progress;

pub use join_options::JoinOptions;
pub use kind::{JoinKind, JoinSide};
pub use progress::{JoinPhase, JoinProgress, JoinWatcher};
