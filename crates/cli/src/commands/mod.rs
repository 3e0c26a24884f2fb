//! One file for each sub-command: its arguments, what it does, and how it shows the result.

pub(crate) mod profile;
