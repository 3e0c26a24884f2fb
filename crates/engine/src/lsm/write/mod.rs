//! The write path: group commit, validation of transactions, types that are stated with writes, alterations, ingestion.

pub(super) mod altering;
pub(super) mod commit;
pub(super) mod commit_stream;
pub(super) mod expiring;
pub(super) mod in_flight;
pub(super) mod ingest;
pub(super) mod stating;
pub(super) mod validate;
