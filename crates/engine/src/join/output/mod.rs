//! The destinations of a join's rows: a new table (`table`), a file of plain records or of lines (`file`), a
//! callback, or an iterator (`handed_rows`).

mod destination;
mod file;
mod handed_rows;
mod table;
#[cfg(test)]
mod tests;

pub use destination::JoinOutput;
pub(super) use handed_rows::RowSender;
