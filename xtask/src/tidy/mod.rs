//! The rules of the house that no compiler knows, checked by `cargo xtask tidy`. One file for each kind of rule.

mod check;
mod circles;
mod direction;
mod exports;
mod imports;
mod language;
mod manifest;
mod project;
mod reach;
mod rust;
mod size;
mod text;
mod vendored;

pub(crate) use check::run;
