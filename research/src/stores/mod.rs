//! Stores side by side: the same records, requests and memory for each, and every system in a process of its
//! own.
//!
//! `ogive-research stores list` prints the systems and the workloads, `ogive-research stores run` measures. A store of
//! another crate takes part as a [`StoreSystem`], which [`BenchCommand::store`](crate::BenchCommand::store) adds. It
//! implements one trait, [`KeyValueStore`]. A store whose handles are transactions implements [`StoreSessions`]
//! instead.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::path::Path;
//! use std::sync::{PoisonError, RwLock};
//!
//! use ogive_research::stores::{KeyValueStore, StoreBatch, StoreResult, StoreSessions, StoreSettings, StoreSystem};
//!
//! /// Records in memory, which end with the process: the workloads that begin with nothing in memory fail.
//! #[derive(Default)]
//! struct MapStore(RwLock<BTreeMap<Vec<u8>, Vec<u8>>>);
//!
//! const MAP_STORE: StoreSystem = StoreSystem {
//!     name: "map",
//!     settings: |_| "a map in memory, no limit of memory".into(),
//!     reads_directly: false,
//!     open: |_, _| Ok(Box::new(MapStore::default())),
//! };
//!
//! impl KeyValueStore for MapStore {
//!     fn write(&self, batch: &StoreBatch) -> StoreResult<()> {
//!         let mut records = self.0.write().unwrap_or_else(PoisonError::into_inner);
//!         records.extend(batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
//!         Ok(())
//!     }
//!
//!     fn get(&self, key: &[u8], out: &mut Vec<u8>) -> StoreResult<bool> {
//!         let records = self.0.read().unwrap_or_else(PoisonError::into_inner);
//!         let value = records.get(key);
//!         out.clear();
//!         value.into_iter().for_each(|value| out.extend_from_slice(value));
//!         Ok(value.is_some())
//!     }
//!
//!     fn scan(&self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> StoreResult<usize> {
//!         let records = self.0.read().unwrap_or_else(PoisonError::into_inner);
//!         out.clear();
//!         let passed = records.range(from.to_vec()..).take(entries);
//!         Ok(passed.inspect(|(key, value)| out.extend([key.as_slice(), value].concat())).count())
//!     }
//! }
//!
//! # let settings =
//! #     StoreSettings { memory_bytes: 1 << 20, memtable_bytes: 1 << 20, synced: false, direct: false, lz4: false };
//! let store: Box<dyn StoreSessions> = (MAP_STORE.open)(Path::new("unused"), &settings)?;
//! let mut batch = StoreBatch::default();
//! batch.push(b"key", b"value");
//! store.writer()?.write(&batch)?;
//! let mut value = Vec::new();
//! assert!(store.reader(true)?.get(b"key", &mut value)? && value == b"value");
//! assert_eq!(store.reader(true)?.scan(b"a", 2, &mut value)?, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The conductor gives each system a worker process, so that its memory can be told, and lets them take turns, so that
//! other load of the machine falls on all of them. The workers compare answers with what was written. A wrong answer
//! ends the measurement of its system; the others go on.

mod arguments;
mod batch;
mod bench;
mod conduct;
mod ogive;
mod process;
mod protocol;
mod report;
mod resources;
mod shared;
mod store;
mod system;
mod systems;
mod worker;
mod workloads;

pub use arguments::{StoreRunArguments, StoresCommand};
pub use batch::StoreBatch;
pub use bench::StoreBench;
pub use ogive::OGIVE;
pub use store::{KeyValueStore, StoreReader, StoreResult, StoreSessions, StoreWriter};
pub use system::{StoreSettings, StoreSystem};
