//! Reports on tables: sizes, structure, designs compared.

pub(super) mod compare;
pub(super) mod lookup_sample;
#[cfg(test)]
mod measure_tests;
pub(super) mod structure;
#[cfg(test)]
mod structure_tests;
pub(super) mod summary;
