//! The write path: batches, group commit, the write-ahead log, ingestion.

pub(super) mod commit;
pub(super) mod commit_stream;
pub(super) mod in_flight;
pub(super) mod ingest;
pub(super) mod stating;
pub(crate) mod wal;
