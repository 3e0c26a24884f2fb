//! Experiments on the store that are not from a paper.

mod soak;
mod typed;

pub(super) use soak::SOAK;
pub(super) use typed::TYPED;
