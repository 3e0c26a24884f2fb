//! Kinds of indexes: their codes, the registry, and indexes of types known at run time.
//!
//! The file header of an index has the code of its kind. The engine's own kinds are in `builtin`; `ogive-research`
//! registers those of papers. Opening an index of a kind that is not registered is `Cause::UnregisteredKind`.

pub(super) mod any;
pub(super) mod builtin;
pub(super) mod kind;
