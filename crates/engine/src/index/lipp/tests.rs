//! What every structure promises, and that neither order nor distribution makes the tree deep or the file large.

use super::{Lipp, LippOptions};
use crate::index::IndexLayout;
use crate::index::harness::structure_tests;

structure_tests!(narrow_keys, u64, |layout: IndexLayout| Box::new(Lipp::new(&layout, LippOptions::default())));
structure_tests!(wide_keys, u128, |layout: IndexLayout| Box::new(Lipp::new(&layout, LippOptions::default())));
