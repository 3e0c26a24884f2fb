//! Facts about relations, and what a plan says: costs, alternatives, explanations.

pub(in crate::join) mod cost;
pub(in crate::join) mod explanation;
pub(in crate::join) mod facts;
pub(in crate::join) mod spread;
