//! Whole runs, by subject.

mod beside;
mod dbs;
mod demo;
mod indexes;
mod inputs;
mod joins;
#[cfg(unix)]
mod open_files;
mod outputs;
mod partial;
mod run;
mod tables;
mod usage;
