//! Keys that programs look up are sampled and weigh the design of the next table. Method: lookups in tables and stores
//! by every call; the sample, its file, and the design for it.

#![expect(clippy::disallowed_methods, reason = "the file of a sample is read as users read it")]

use crate::support::keys;
use ogive::io::MemoryStorage;
use ogive::lsm::{Db, DbOptions};
use ogive::table::{LookupSample, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::types::KeyType;
use ogive::{Result, TableReport};
use std::sync::Arc;

fn write(storage: &Arc<MemoryStorage>, keys: &[u64], options: &TableWriteOptions) -> Result<TableReport> {
    let mut writer = TableWriter::create((storage.clone(), "t"), options.clone().key_type(KeyType::U64).replace(true))?;
    keys.iter().try_for_each(|key| writer.append(&key.to_be_bytes(), b""))?;
    writer.finish()
}

#[test]
fn every_kind_of_lookup_in_a_table_is_sampled() -> Result<()> {
    let storage = Arc::new(MemoryStorage::new());
    let mut all = keys("uniform", 1_000, 1);
    all.dedup();
    write(&storage, &all, &TableWriteOptions::default())?;
    let sample = LookupSample::new(100);
    let table = Table::open((storage.clone(), "t"), &TableOptions::default().lookup_sample(sample.clone()))?;
    let key = |number: usize| all[number].to_be_bytes();
    table.get(&key(5))?;
    table.contains_key(&key(3))?;
    table.get_all(&key(9))?;
    table.value_reader(&key(3))?;
    table.multi_get(&[&key(8)[..], &key(1)[..]])?;
    table.get(&[0xff; 8])?;
    table.get(b"not a key of eight bytes").unwrap_err();
    let numbers = [5, 3, 9, 3, 8, 1];
    let mut expected: Vec<Vec<u8>> = numbers.iter().map(|&number| key(number).to_vec()).collect();
    expected.push(vec![0xff; 8]);
    assert_eq!((sample.keys(), sample.lookups()), (expected, 7));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("asked.txt");
    sample.save(&path, table.key_type())?;
    let lines: String = numbers.iter().map(|&number| format!("{}\n", all[number])).collect();
    assert_eq!(std::fs::read_to_string(path).unwrap(), lines + &format!("{}\n", u64::MAX));
    Ok(())
}

#[test]
fn lookups_in_a_keyspace_are_sampled_from_the_first_call_on() -> Result<()> {
    let db = Db::open(Arc::new(MemoryStorage::new()), &DbOptions::default())?;
    let fruit = db.keyspace("fruit")?;
    fruit.insert("apple", "red")?;
    fruit.get("before")?;
    let sample = fruit.sample_lookups(10);
    db.keyspace("fruit")?.get("apple")?;
    db.keyspace("other")?.get("elsewhere")?;
    fruit.contains_key("pear")?;
    fruit.multi_get(["fig", "kiwi"])?;
    fruit.get_into("lime", &mut Vec::new())?;
    db.snapshot().get(&fruit, "plum")?;
    let keys: Vec<Vec<u8>> = ["apple", "pear", "fig", "kiwi", "lime", "plum"].map(Into::into).into();
    assert_eq!(sample.keys(), keys);
    assert_eq!(fruit.sample_lookups(1_000).keys(), keys);
    Ok(())
}

#[test]
fn a_table_that_is_built_for_its_sample_reads_no_more_for_these_lookups() -> Result<()> {
    let storage = Arc::new(MemoryStorage::new());
    let all = keys("clusters", 200_000, 3);
    let options = TableWriteOptions::default().block_bytes(512).profile(ogive::Profile::named("optane")?);
    write(&storage, &all, &options)?;
    let sample = LookupSample::new(2_000);
    let table = Table::open((storage.clone(), "t"), &TableOptions::default().lookup_sample(sample.clone()))?;
    for number in 0..20_000_usize {
        table.get(&all[number * number % 500].to_be_bytes())?;
    }
    let keys = sample.keys();
    assert_eq!(keys.len(), 2_000);
    let untuned = write(&storage, &all, &options)?;
    let tuned = write(&storage, &all, &options.clone().tuning(|tuning| tuning.looked_up(keys.clone())))?;
    let priced =
        write(&storage, &all, &options.clone().tuning(|tuning| tuning.looked_up(keys)).design(forced(&untuned)))?;
    let us = |report: &TableReport| report.objective.as_ref().unwrap().modelled_us;
    assert!(us(&tuned) <= us(&priced) * (1.0 + 1e-9), "{tuned:?} {priced:?}");
    Ok(())
}

/// The design of a table, as a request for its builders.
fn forced(report: &TableReport) -> ogive::DesignRequest {
    let field = |part: fn(&str) -> &str| {
        let values: Vec<&str> = report.layers.iter().map(|layer| part(&layer.kind)).collect();
        values.join("/")
    };
    let name = field(|kind| kind.split('(').next().unwrap());
    let lambda = field(|kind| kind.split(['(', ')']).nth(1).unwrap());
    format!("layers={},builder={name},lambda={lambda}", report.layers.len()).parse().unwrap()
}
