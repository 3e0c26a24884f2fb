//! The sketches of the experiments, a file for each paper. Experiments without one are shown as tables.

mod airindex;
mod aulid;
mod bourbon;
mod disk;
mod joins;
mod registry;

pub(super) use registry::of;
