//! Experiments on the store that are not from a paper.

mod batches;
mod coding;
mod fio;
mod reads;
mod scans;
mod soak;
mod typed;

pub(super) use batches::BATCHES;
pub(super) use coding::CODING;
pub(super) use reads::READS;
pub(super) use scans::SCANS;
pub(super) use soak::SOAK;
pub(super) use typed::TYPED;
