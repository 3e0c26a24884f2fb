//! Standard input as an argument, as a path, and in messages.

use std::ffi::OsStr;
use std::path::{Display, Path};

/// The path that `-` stands for in the place of an input.
pub(crate) const STANDARD_INPUT: &str = "/dev/stdin";

/// The path of an argument, where `-` is standard input.
pub(crate) fn input_named(argument: &OsStr) -> &Path {
    if argument == "-" { Path::new(STANDARD_INPUT) } else { Path::new(argument) }
}

/// An input as messages name it.
pub(crate) fn shown(path: &Path) -> Display<'_> {
    if path == Path::new(STANDARD_INPUT) { Path::new("standard input").display() } else { path.display() }
}
