//! The tables and the store that the calls read: the same for each revision.

use ogive::{Db, DbOptions, KeyType, Place, Profile, Result, TableWriteOptions, TableWriter};
use std::collections::BTreeSet;
use std::path::Path;

/// Records of the large table.
pub(crate) const RECORDS: u64 = 10_000_000;
/// The small table has 1/10 of the records of the large one, as have the store and the index.
pub(crate) const SMALL_DIVISOR: u64 = 10;
/// The table of texts, and the store, have 1/50: their values are longer.
pub(crate) const LONG_DIVISOR: u64 = 50;

pub(crate) const LARGE: &str = "large.table";
pub(crate) const SMALL: &str = "small.table";
pub(crate) const TEXTS: &str = "texts.table";
pub(crate) const STORE: &str = "store";

/// Length of the values of texts and of the store, in bytes.
const VALUE_BYTES: u64 = 100;

/// A number in no order and with no pattern (the finalizer of SplitMix64, Steele et al. 2014).
pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The key of a record of a table of numbers. Those of the small table are those of the first records of the large one.
pub(crate) fn number_key(record: u64) -> [u8; 8] {
    (mix(record) >> 8).to_be_bytes()
}

/// The key of a record of the store, and of the table of texts.
pub(crate) fn text_key(record: u64) -> Vec<u8> {
    format!("user{:016x}", mix(record)).into_bytes()
}

fn long_value(record: u64) -> Vec<u8> {
    (0..VALUE_BYTES).map(|byte| mix(record.wrapping_mul(VALUE_BYTES) + byte) as u8).collect()
}

/// Writes a table of numbers with values of eight bytes.
///
/// # Errors
/// Those of the place.
pub(crate) fn write_numbers(place: impl Into<Place>, records: u64) -> Result<()> {
    let profile = Profile::named("nvme").unwrap_or_default();
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(8).profile(profile);
    let mut writer = TableWriter::create(place, options)?;
    for key in (0..records).map(number_key).collect::<BTreeSet<_>>() {
        writer.append(&key, &key)?;
    }
    writer.finish().map(|_| ())
}

/// Writes all files for a large table of `records` records to a folder.
///
/// # Errors
/// Those of the folder.
pub(crate) fn prepare(folder: &Path, records: u64) -> Result<()> {
    write_numbers(folder.join(LARGE), records)?;
    write_numbers(folder.join(SMALL), records / SMALL_DIVISOR)?;
    let mut texts = TableWriter::create(folder.join(TEXTS), TableWriteOptions::default())?;
    let records = 0..records / LONG_DIVISOR;
    for (key, record) in records.clone().map(|record| (text_key(record), record)).collect::<BTreeSet<_>>() {
        texts.append(&key, &long_value(record))?;
    }
    texts.finish()?;
    let store = Db::open(folder.join(STORE), &DbOptions::default().threads(0))?;
    for record in records {
        store.insert(text_key(record), long_value(record))?;
    }
    store.compact()?;
    store.close()
}
