//! The destinations of a join's rows: a new table (`table`), a file of plain records or of lines (`file`), or a
//! callback.

mod destination;
mod file;
mod table;
#[cfg(test)]
mod tests;

pub use destination::JoinOutput;
