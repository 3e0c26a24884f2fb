//! The process that serves one system: reads jobs from standard input, and answers each on standard output.

mod answers;
mod content;
mod reads;
mod serve;
mod state;
#[cfg(test)]
mod tests;
mod writes;

pub(super) use serve::serve;
