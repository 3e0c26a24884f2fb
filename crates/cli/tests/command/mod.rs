//! Whole runs, by subject.

mod beside;
mod dbs;
mod demo;
mod indexes;
mod inputs;
mod joins;
mod outputs;
mod partial;
mod run;
mod tables;
mod usage;
