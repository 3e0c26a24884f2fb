//! The B+-tree's inner nodes: the baseline.
