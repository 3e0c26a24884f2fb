//! Experiments on the store that no paper has.

mod soak;

pub(super) use soak::SOAK;
