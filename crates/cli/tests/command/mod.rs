//! Whole runs, by subject.

mod beside;
mod demo;
mod inputs;
mod run;
mod tables;
mod usage;
