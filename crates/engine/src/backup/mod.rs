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
//!
//! The files are described in `docs/format/backup.md`.

mod backups;
mod catalog;
mod check;
mod copy;
mod create;
mod record;
mod restore;

pub use backups::{BackupFinding, BackupInfo, BackupList, BackupOptions, BackupSummary, Backups};
