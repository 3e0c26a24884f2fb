//! # Ogive
//!
//! A storage engine whose indexes are learned: it fits itself to the curve of the keys, to the storage they lie on (a
//! [`Profile`]), and to the memory it may use, and turns a key into the fewest bytes read.
//!
//! | for | use | |
//! |---|---|---|
//! | sorted data written once, on any storage | [`Table`] | one immutable file, its index tuned to keys and storage |
//! | fixed-width keys that change, in one file | [`Index`] | an ordered map with transactions and snapshots |
//! | keys and values of any length, many threads | [`Db`] | a crash-safe log-structured store with keyspaces |
//! | matching two inputs by key, larger than memory | [`join`](fn@join) | by the cheapest of several methods |
//!
//! Each is opened at a [`Place`]: a path, a URL, or a storage, with a name in it for a table or an index. URLs of
//! object stores need `ogive_object_store::register()`. A store is a folder:
//!
//! ```
//! use ogive::{Db, DbOptions};
//!
//! # let folder = std::env::temp_dir().join(format!("ogive-front-{}", std::process::id()));
//! let db = Db::open(&folder, &DbOptions::default())?;
//! db.insert("apple", "red")?; // durable when the call returns
//! assert_eq!(db.get("apple")?.as_deref(), Some(&b"red"[..]));
//! for record in db.range("a".."b") {
//!     let (key, value) = record?;
//!     println!("{} is {}", key.escape_ascii(), value.escape_ascii());
//! }
//! # db.close()?;
//! # _ = std::fs::remove_dir_all(&folder);
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! A table is written once and opened by one read. A lookup is one read for each index layer below the root, and one of
//! data:
//!
//! ```
//! use ogive::{KeyType, MemoryStorage, Profile, ReadTrace, Table, TableOptions, TableWriteOptions, TableWriter};
//! use std::sync::Arc;
//!
//! let storage = Arc::new(MemoryStorage::new()); // or `LocalStorage::new(folder)`
//! let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(8).profile(Profile::named("s3")?);
//! let mut writer = TableWriter::create((storage.clone(), "squares"), options)?;
//! for i in 0..10_000_u64 {
//!     // Keys are byte strings, compared bytewise: integers are big-endian.
//!     writer.append(&(i * i).to_be_bytes(), &i.to_le_bytes())?;
//! }
//! let report = writer.finish()?;
//! println!("{} bytes of index for {} blocks", report.index_bytes, report.blocks);
//!
//! let table = Table::open((storage, "squares"), &TableOptions::default())?;
//! let mut trace = ReadTrace::new();
//! let value = table.traced(&mut trace).get(&144_u64.to_be_bytes())?;
//! assert_eq!(value, Some(12_u64.to_le_bytes().to_vec()));
//! println!("{} reads, {} bytes", trace.reads.len(), trace.bytes());
//! assert_eq!(table.rank(&1000_u64.to_be_bytes())?, 32);
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! An index is one file, updated in place, that one writer changes while many read:
//!
//! ```
//! use ogive::{Index, IndexOptions, MemoryStorage};
//! use std::sync::Arc;
//!
//! let storage = Arc::new(MemoryStorage::new());
//! let index: Index<u64, u64> = Index::create((storage, "ages"), &IndexOptions::default())?;
//! let mut transaction = index.write()?;
//! transaction.insert(1815, 36)?;
//! transaction.commit()?;
//! assert_eq!(index.get(1815)?, Some(36));
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! The types that most programs need are at the root of the crate. The modules have the rest:
//!
//! | module | contents |
//! |---|---|
//! | [`table`], [`tune`] | tables, their writers and reports; the choice of an index design |
//! | [`index`] | indexes updated in place |
//! | [`lsm`], [`verify`], [`repair`] | stores; verification of stores, and repair |
//! | [`backup`] | incremental backups of stores that may be open, and restoring them |
//! | [`join`](mod@join) | inputs, plans and outputs of joins |
//! | [`typed`] | keyspaces and tables with Rust types for keys and values; structs as rows |
//! | [`types`] | types of keys: scalars and tuples, their order-preserving bytes and their text |
//! | [`io`] | storages, and their profiles |
//!
//! What is public and not listed here is a seam for the other crates of this repository, and may change with any
//! version.
//!
//! Features: `join`, `index`, `tune` (the search for index designs) and `typed` are on by default, and have what the
//! modules of these names have; `join` brings `index`. Without them remain tables of named designs, and stores.
//! `lz4` (on by default) and `zstd` compress blocks. `postcard` stores
//! values that `serde` serialises. `uuid`, `chrono` and `jiff` make the types of these crates keys and values.
//! `metrics` counts for a recorder of the crate of that name; rare events are always reported through `tracing`.

#![cfg_attr(
    not(all(feature = "join", feature = "index", feature = "tune", feature = "typed")),
    expect(dead_code, unused_imports, reason = "some internals serve only features that are left out")
)]

#[macro_use]
mod options;

pub mod backup;
#[doc(hidden)]
pub mod block;
mod durability;
mod error;
mod file_format;
#[cfg(feature = "index")]
pub mod index;
pub mod io;
#[cfg(feature = "join")]
pub mod join;
mod log;
pub mod lsm;
#[cfg(feature = "index")]
#[doc(hidden)]
pub mod page;
pub mod repair;
pub mod table;
mod telemetry;
pub mod tune;
#[cfg(feature = "typed")]
pub mod typed;
pub mod types;
pub mod verify;
mod vlog;

pub use backup::{BackupOptions, Backups};
pub use block::{Compression, Slice};
pub use durability::Durability;
pub use error::{Advice, Call, Cause, Error, ErrorKind, Result, Setting, Voice};
#[doc(hidden)]
pub use error::{Library, samples as error_samples, words_of_others};
#[doc(hidden)]
pub use file_format::FileFormat;
#[cfg(feature = "index")]
pub use index::{
    Index, IndexKind, IndexOptions, IndexRange, IndexReader, IndexVerifyReport, Key, Payload, WriteTransaction,
};
pub use io::{LocalStorage, MemoryStorage, Place, Profile, Storage};
#[cfg(feature = "join")]
pub use join::{
    JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinReport, JoinRow, JoinRows, JoinSource, RecordShape,
    explain as explain_join, join, join_rows,
};
pub use lsm::{
    AsyncDb, AsyncRange, Batch, Change, ChangeBatch, ChangePosition, Db, DbChanges, DbOptions, DbRange, DbSnapshot,
    DbStats, DbTransaction, IngestSummary, IngestedTables, Isolation, Keyspace, LazyRecord,
};
#[cfg(feature = "index")]
pub use page::PageOptions;
#[cfg(feature = "index")]
pub use repair::repair_index;
pub use repair::{FileRepairReport, LostRange, RepairReport, repair_store, repair_table};
pub use table::{
    ReadTrace, SortingWriter, Table, TableOptions, TableRange, TableReport, TableVerifyReport, TableWriteOptions,
    TableWriter,
};
pub use tune::DesignRequest;
pub use types::{KeyType, encode_f64, encode_i64};
pub use verify::{StoreReport, verify_store};

/// The features that have a part of the interface each, and whether this build has them.
#[doc(hidden)]
pub const FEATURES: [(&str, bool); 4] = [
    ("join", cfg!(feature = "join")),
    ("index", cfg!(feature = "index")),
    ("tune", cfg!(feature = "tune")),
    ("typed", cfg!(feature = "typed")),
];

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the book are compiled and run; those that need other crates are at the root of these.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/start.md")]
    struct Start;

    #[doc = include_str!("../../../docs/tour.md")]
    struct Tour;
    #[doc = include_str!("../../../docs/recipes/read-only-table.md")]
    struct ReadOnlyTable;
    #[doc = include_str!("../../../docs/recipes/typed-store.md")]
    struct TypedStore;
    #[doc = include_str!("../../../docs/recipes/transactions.md")]
    struct TransactionsRecipe;
    #[doc = include_str!("../../../docs/recipes/latest-and-pages.md")]
    struct LatestRecipe;
    #[doc = include_str!("../../../docs/recipes/readers-and-backups.md")]
    struct ReadersRecipe;
    #[doc = include_str!("../../../docs/recipes/unique-email.md")]
    struct UniqueEmail;
    #[doc = include_str!("../../../docs/recipes/sessions.md")]
    struct Sessions;
    #[doc = include_str!("../../../docs/recipes/follow-a-store.md")]
    struct FollowAStore;
    #[doc = include_str!("../../../docs/recipes/join.md")]
    struct JoinRecipe;
    #[doc = include_str!("../../../docs/operations.md")]
    struct Operations;
    #[doc = include_str!("../../../docs/extend.md")]
    struct Extend;
}
