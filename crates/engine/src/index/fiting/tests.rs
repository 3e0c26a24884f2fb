//! The FITing-tree against a map, on nasty keys, with several errors and buffers; and what is its own.

use super::{Fiting, FitingOptions};
use crate::index::harness::structure_tests;

fn options(error: u32, buffer_entries: usize) -> FitingOptions {
    FitingOptions { error, buffer_entries }
}

structure_tests!(short_keys, u64, |layout| Box::new(Fiting::new(layout, FitingOptions::default())));
structure_tests!(long_keys, u128, |layout| Box::new(Fiting::new(layout, FitingOptions::default())));
structure_tests!(no_error_and_small_buffers, u64, |layout| Box::new(Fiting::new(layout, options(0, 3))));
structure_tests!(one_entry_a_buffer, u64, |layout| Box::new(Fiting::new(layout, options(4, 1))));
structure_tests!(any_error, u128, |layout| Box::new(Fiting::new(layout, options(u32::MAX, 1000))));
