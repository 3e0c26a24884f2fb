//! The PGM index against a map, on nasty keys, with several errors, bases and buffers; and what is its own.

use super::{Pgm, PgmOptions};
use crate::index::harness::structure_tests;

fn options(error: u32, base: u32, buffer_entries: usize) -> PgmOptions {
    PgmOptions { error, base, buffer_entries }
}

structure_tests!(short_keys, u64, |layout| Box::new(Pgm::new(layout, PgmOptions::default())));
structure_tests!(long_keys, u128, |layout| Box::new(Pgm::new(layout, PgmOptions::default())));
structure_tests!(tight_lines_and_many_runs, u64, |layout| Box::new(Pgm::new(layout, options(1, 2, 4))));
structure_tests!(one_entry_a_buffer, u64, |layout| Box::new(Pgm::new(layout, options(4, 3, 1))));
structure_tests!(any_error, u128, |layout| Box::new(Pgm::new(layout, options(u32::MAX, u32::MAX, 1000))));
