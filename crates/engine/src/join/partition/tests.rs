//! Partitions of relations of any shape, within any limit.
