//! The process that serves one system: reads jobs from standard input, and answers each on standard output.

mod reads;
mod serve;
mod state;
mod writes;

pub(crate) use serve::serve;
