//! The destinations of a join's rows: a new table (`table`), a file of plain records or of lines (`file`), a
//! callback, or an iterator (`rows`).

mod destination;
mod file;
mod rows;
mod table;
#[cfg(test)]
mod tests;

pub use destination::JoinOutput;
pub use rows::{JoinRow, JoinRows, join_rows};
