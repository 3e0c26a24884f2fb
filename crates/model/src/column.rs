//! Coded columns: numbers as lines plus bit-packed residuals, with random access.
//!
//! A column is cut into *groups* of [`GROUP_NUMBERS`]. Each group has a line, and stores for each number its distance
//! above that line, in as few bits as the group needs. One number is decoded without the others, and in a sorted column
//! the line also predicts where a number is: a search decodes a residual or two on smooth data, and never takes more
//! steps than a bisection. A line with slope 0 is a frame of reference.
//!
//! ```text
//! head       base u64 | shift u8 | anchor bytes u8 | rise bytes u8 | 0 | bytes of directory and residuals u32
//! directory  a group: anchor | rise | width u8 | start of its residuals, in words of 8 bytes
//! residuals  bit-packed, lowest bit first; a group begins at a multiple of 8 bytes
//!
//! number(j) = base + (anchor << shift) + ((rise << shift) * j >> 6) + residual(j)        0 <= j < 64
//! ```
//!
//! A column need not begin with the first number of a group: `lead` says how many numbers of its first group are
//! missing. So a writer fits each group once, before it decides where blocks end.
//!
//! The published form of such codes is LeCo (Liu, Zeng and Zhang, SIGMOD 2024). This one differs: groups have one
//! length, lines need no multiplication in floating point, and their parameters keep only the bits that matter.

mod fit;
mod read;
mod write;

pub use fit::ColumnGroup;
pub use read::{Column, ColumnRun};
pub use write::{ColumnSize, encode};

/// Numbers of a group. Shorter groups spend more on their heads, longer ones on wider residuals; a power of two makes
/// the line cheap.
pub const GROUP_NUMBERS: usize = 64;
const GROUP_BITS: u32 = GROUP_NUMBERS.trailing_zeros();
/// Size of the head of a column in bytes.
pub const COLUMN_HEAD_BYTES: usize = 16;

#[cfg(test)]
mod tests;
