//! Where the rows of a join go: a new table (`table`), a file of plain records or of lines (`file`), or the caller.

mod choice;
mod file;
mod table;
#[cfg(test)]
mod tests;

pub use choice::Output;
