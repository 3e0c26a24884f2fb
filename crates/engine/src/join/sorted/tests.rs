//! Sorted copies of relations of any shape, within any limit.
