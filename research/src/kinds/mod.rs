//! The kinds of index of the papers, their registration, and what their structures share.

pub(crate) mod batch;
pub(crate) mod numbers;
pub(crate) mod parts;
mod register;
pub(crate) mod tunables;

pub use register::{
    AIRINDEX, ALEX, ALEX_BTREE, AULID, FITING, FITING_BTREE, KINDS, LIPP, LIPP_BTREE, PGM, PGM_BTREE, register,
};
