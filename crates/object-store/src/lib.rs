//! Tables of Ogive in object stores: `s3://`, `gs://`, `az://`, `http(s)://` (read only) and `memory://`.
//!
//! ```
//! use ogive::KeyType;
//! use ogive::io::{LocatedFile, locate};
//! use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
//! use std::path::Path;
//!
//! ogive_object_store::register();
//! let url = "memory://bucket/fruit.table"; // or s3://, gs://, az://
//! let LocatedFile { storage, name } = locate(url)?;
//! let mut writer = TableWriter::create((storage, &name), TableWriteOptions::default().key_type(KeyType::Text))?;
//! writer.append(b"apple", b"red")?;
//! writer.finish()?;
//!
//! let table = Table::open(Path::new(url), &TableOptions::default())?;
//! assert_eq!(table.get(b"apple")?, Some(b"red".to_vec()));
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! [`ObjectStorage`] is the engine's [`Storage`](ogive::io::Storage) over a store of the crate `object_store`. Requests
//! run on threads of this crate; callers wait, in threads of any runtime or none.
//!
//! * Opening is one request: a suffix range, whose answer has the length and the ETag. Its bytes serve the reads at the
//!   end of the file.
//! * Every later read states the ETag and compares that of the answer: an object that was replaced is
//!   [`Cause::ObjectChanged`](ogive::Cause::ObjectChanged), never a mixture.
//! * Files appear whole, by one PUT or by a multipart upload that is completed at the end and aborted when dropped.
//! * With [`ObjectOptions::cache`], what was read stays on the local disk, and is found again by ETag.
//! * No error, message or `Debug` form shows credentials or the query of a URL.

// The recipe for a service under tokio, which the engine does not depend on.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/recipes/web-service.md")]
struct WebService;

mod answers;
mod asynchronous;
mod cache;
mod connect;
mod failure;
mod file;
mod kept_openings;
mod measure;
mod options;
mod ranges;
mod replay;
mod retry;
mod runtime;
mod storage;
mod telemetry;
mod upload;
mod waiting;

pub use asynchronous::{AsyncTable, open_read_only};
pub use cache::{CACHE_BYTES_DEFAULT, DiskCache, DiskCacheCounts};
pub use connect::{SCHEMES, register, register_with};
pub use measure::{ObjectMeasureOptions, measure_objects};
pub use options::ObjectOptions;
pub use ranges::opening_bytes;
pub use storage::ObjectStorage;
pub use waiting::{WaitingCall, report_waiting_calls};
