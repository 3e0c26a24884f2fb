//! External programs as subjects of the experiments on indexes, so that a structure in any language is measured as it
//! is.
//!
//! The bench starts the program and talks to it in lines of JSON over its standard input and output. The page
//! `docs/programs.md` has the protocol; [`Request`] and [`Reply`] are its messages, and [`ProgramIndex`] is our side of
//! it. Every answer is checked, and every failure is a [`ProgramFault`] under the name of the program.

mod batches;
mod fault;
mod index;
mod pipe;
mod protocol;

pub use batches::{PipeCost, ProgramWork};
pub use fault::ProgramFault;
pub use index::{ProgramIndex, ProgramSize};
pub use protocol::{LINE_BYTES_MAX, PROTOCOL_VERSION, Reply, Request};
