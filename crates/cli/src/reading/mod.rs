//! Readers of inputs: pipes, standard input, samples, lookups, files of other programs.

pub(crate) mod bounds;
pub(crate) mod decoded;
pub(crate) mod external;
pub(crate) mod kept_pipe;
pub(crate) mod lookups;
pub(crate) mod paced_lines;
pub(crate) mod pipe;
pub(crate) mod reads;
pub(crate) mod sample;
pub(crate) mod source;
pub(crate) mod standard_input;
