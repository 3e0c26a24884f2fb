//! The designs of other papers that AirIndex is compared with, as designs of tables: PGM, RadixSpline, PLEX, RMI, and
//! the Data Calculator. Each chooses its parameters by the objective of AirIndex. What a table stores of them are lines
//! and steps, which readers know.

mod builders;
mod request;
mod rmi;
mod splines;
mod trees;

pub(crate) use builders::rmi_builder;
pub use request::PaperDesign;
pub(crate) use request::register_designs;
