//! The write path: group commit, types that are stated with writes, ingestion.

pub(super) mod commit;
pub(super) mod commit_stream;
pub(super) mod in_flight;
pub(super) mod ingest;
pub(super) mod stating;
