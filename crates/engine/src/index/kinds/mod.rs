//! Kinds of indexes: their codes, the registry, and indexes of types known at run time.

pub(super) mod any;
pub(super) mod builtin;
pub(super) mod kind;
