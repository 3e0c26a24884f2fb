//! Environments of LMDB: each database becomes a keyspace, the unnamed one `default`.
//!
//! All is read in one read transaction, so the environment may be in use. Without a lock file no program has it open,
//! and none is made, so that the folder stays as it is; should a program open it meanwhile, the transaction in the meta
//! pages is another one at the end, and the import fails.

mod form;
mod meta;
mod source;

pub(crate) use source::open;
