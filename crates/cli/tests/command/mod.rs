//! Whole runs, by subject.

mod demo;
mod inputs;
mod run;
mod tables;
mod usage;
