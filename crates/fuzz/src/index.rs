//! Fuzz target: the header of an index.

use ogive::index::extend::FactoryWord;
use ogive::index::{Index, IndexOptions, RawKey};
use ogive::io::{MemoryStorage, Storage};
use ogive::page::{PageFile, PageOptions};
use ogive::types::{KeyColumn, KeyType, RecordType, ValueType};
use std::sync::Arc;

/// Types of records, with the bytes of the longest value where it has no width.
const TYPES: [(&str, &str, usize); 4] = [
    ("u64", "bytes", 8),
    ("i32", "i64", 8),
    ("uuid", "{name: text, born: date?}", 40),
    ("(u32, date? desc)", "{a: u8, b: f64?}", 11),
];

/// Opens an index whose header has these bytes, and puts a value into it as its types say.
///
/// # Panics
/// When an opened index does not take its own types again, or returns another payload: the broken promise.
pub fn header(data: &[u8]) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = PageOptions::default();
    if PageFile::create(&storage, "index", &options, data).is_err() {
        return;
    }
    if let Ok(index) = Index::<RawKey<u64>, Vec<u8>>::open(
        (Arc::clone(&storage), "index"),
        &IndexOptions::default().pages(options.clone()),
    ) {
        use_types(&index);
    } else if let Ok(index) =
        Index::<RawKey<u128>, Vec<u8>>::open((storage, "index"), &IndexOptions::default().pages(options.clone()))
    {
        use_types(&index);
    }
}

fn use_types<W: FactoryWord>(index: &Index<RawKey<W>, Vec<u8>>) {
    let types = index.record_type();
    assert!(types.keys.width().is_some_and(|width| width <= 16), "keys of type {types}");
    let payload_bytes = index.layout().payload_bytes;
    let value = vec![0; types.values.width().unwrap_or(0)];
    let payload = match types.values.is_bytes() {
        true => vec![7; payload_bytes],
        false => index.encode_value(&value).expect("a value of the width of its type"),
    };
    assert_eq!(payload.len(), payload_bytes);
    index.bulk_load([(RawKey(W::from_u128(0)), payload.clone())]).expect("one entry");
    let found = index.get(RawKey(W::from_u128(0))).expect("an entry that was loaded");
    assert_eq!(found, Some(payload.clone()));
    // Zeros are a value of most types, but no row.
    match index.decode_value(&payload) {
        Ok(read) => assert!(types.values.is_bytes() || *read == *value, "{types}"),
        Err(_) => assert!(types.values.decode(&value).is_err(), "{types}"),
    }
}

/// The headers of indexes of each type.
pub fn header_seeds() -> Vec<Vec<u8>> {
    let seed = |(keys, values, payload_bytes): &(&str, &str, usize)| {
        let keys: KeyType = keys.parse().ok()?;
        let names = [KeyColumn { name: "id".into(), position: 0 }, KeyColumn { name: "day".into(), position: 1 }];
        let named = if matches!(keys, KeyType::Tuple(_)) { names.to_vec() } else { Vec::new() };
        let types = RecordType::new(keys, values.parse::<ValueType>().ok()?).key_columns(named);
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let is_short = keys.width()? <= 8;
        let options = IndexOptions::default().record_type(types).payload_bytes(*payload_bytes);
        match is_short {
            true => drop(Index::<RawKey<u64>, Vec<u8>>::create((Arc::clone(&storage), "index"), &options).ok()?),
            false => drop(Index::<RawKey<u128>, Vec<u8>>::create((Arc::clone(&storage), "index"), &options).ok()?),
        }
        Some(PageFile::open(&storage, "index", &PageOptions::default()).ok()?.header().to_vec())
    };
    TYPES.iter().filter_map(seed).collect()
}
