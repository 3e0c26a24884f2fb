//! Fuzz target: the catalog of an index beside Parquet files.

use ogive::table::{Table, TableOptions};
use ogive::{MemoryStorage, Storage};
use ogive_parquet::{BuildOptions, FolderMap, ParquetIndex, check_catalog};
use std::path::Path;
use std::sync::Arc;

/// A small file of another writer.
const FILE: &[u8] = include_bytes!("../../parquet/fixtures/duckdb-zstd.parquet");

/// Decodes any bytes as a catalog, with the places of all pages.
pub fn catalog(stored: &[u8]) {
    // What is refused is refused by an error; what is accepted, as a whole.
    _ = check_catalog(Path::new("index"), stored);
}

/// Catalogs of a sorted file, and of one that is not.
#[must_use]
pub fn catalog_seeds() -> Vec<Vec<u8>> {
    ["id", "name"].map(seed).to_vec()
}

fn seed(key: &str) -> Vec<u8> {
    let memory = Arc::new(MemoryStorage::new());
    memory.put("a.parquet", FILE.to_vec()).expect("a file in memory");
    let storage: Arc<dyn Storage> = memory;
    let folder = Arc::new(FolderMap::flat(storage.clone()));
    let options = BuildOptions::new("a.parquet", &[key]);
    ParquetIndex::build(storage.clone(), "index", folder, options).expect("an index of a sound file");
    let table = Table::open((storage, "index"), &TableOptions::default()).expect("the index that was built");
    table.property("parquet").map(<[u8]>::to_vec).unwrap_or_default()
}
