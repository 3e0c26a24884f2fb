//! Experiments on the store that are not from a paper.

mod soak;

pub(super) use soak::SOAK;
