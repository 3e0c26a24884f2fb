//! Whole runs, by subject.

mod beside;
mod dbs;
mod demo;
mod indexes;
mod inputs;
mod run;
mod tables;
mod usage;
