//! What every structure promises, and that neither order nor distribution makes the tree deep or the file large.

use super::{Alex, AlexOptions};
use crate::index::IndexLayout;
use crate::index::harness::structure_tests;

structure_tests!(narrow_keys, u64, |layout: IndexLayout| Box::new(Alex::new(&layout, AlexOptions::default())));
structure_tests!(wide_keys, u128, |layout: IndexLayout| Box::new(Alex::new(&layout, AlexOptions::default())));
