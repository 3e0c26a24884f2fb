//! Data blocks: their forms, and the search in one.

pub(super) mod coded;
#[cfg(test)]
mod coded_tests;
pub(super) mod column_search;
pub(super) mod columns;
pub(super) mod key;
pub(super) mod key_code;
pub(super) mod note;
pub(super) mod parts;
pub(super) mod records;
pub(super) mod view;
