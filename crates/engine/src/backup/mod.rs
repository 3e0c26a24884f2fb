//! Backups of stores: a storage with several kept backups, which share the files that they have in common.
//!
//! Tables and complete value files never change, so a backup copies only those that no earlier one has. Logs, and value
//! files that are still written to, are copied each time, up to the last whole group. The record of a backup is written
//! last: it names the files with their lengths and checksums, and contains the manifest of the store.
//!
//! ```text
//! store:                    12.table  17.table  20.log           later:  12.table  23.table  24.log
//!                              |         |        |                         :         |        |
//! backups:  000001.backup -> 000001-  000001-  000001-   000002.backup -> 000001-  000002-  000002-
//!                            12.table 17.table 20.log                    12.table 23.table 24.log
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `backups` | the public interface |
//! | `record`, `catalog` | the record of a backup; what a storage of backups contains, and who may change it |
//! | `create`, `copy`, `check` | making a backup; copying a file with its checksum; verifying copies |
//! | `restore` | restoring and verifying backups |
//! | `archive`, `segment` | archiving changes between backups; a file of them |
//! | `moments` | the moments to which an archive leads |
//! | `until`, `replay` | restoring a store as of a moment: the way to it, and the changes on it |
//!
//! Between backups, the changes of a store may be archived: read as any follower reads them, in batches, and written to
//! segments that follow one another. A store is restored as of a moment by a backup and the segments behind it.
//!
//! The files are described in `docs/format/backup.md`.

mod archive;
mod backups;
mod catalog;
mod check;
mod copy;
mod create;
mod moments;
mod record;
mod replay;
mod restore;
mod segment;
mod until;

pub use backups::{BackupFinding, BackupInfo, BackupList, BackupOptions, BackupSummary, Backups, RestoredMoment};
pub use moments::{ArchiveSummary, ArchivedMoment, Moment};
