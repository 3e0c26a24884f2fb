//! AULID's inner nodes.
