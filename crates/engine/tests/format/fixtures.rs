//! Tests that tables of every released format version stay readable. Goal: a change of the reader that breaks an old
//! file is noticed. Method: files written by each version lie in `fixtures/`; each is opened, scanned, searched for
//! every record and verified. The expected content is computed here, not stored.

use ogive::io::MemoryStorage;
use ogive::table::{Table, TableOptions};
use ogive::types::ValueType;
use ogive::types::{KeyType, Value};
use std::sync::Arc;

type Records = Vec<(Vec<u8>, Vec<u8>)>;

/// 220 integers with values of 100 bytes, in dense blocks of 512 bytes compressed with LZ4, under a layer of steps and
/// a root of lines.
fn numbers() -> Records {
    let value = |i: u64| [&i.to_le_bytes()[..], &[0; 92]].concat();
    (0..220).map(|i: u64| ((i * i * 7919).to_be_bytes().to_vec(), value(i))).collect()
}

/// 140 words in slotted blocks of 512 bytes under coded separators; every tenth word has a second record.
fn words() -> Records {
    let mut records = Vec::new();
    for i in 0..140_u64 {
        let key = format!("{:05}/{}", i * 487, "w".repeat((i % 9) as usize)).into_bytes();
        records.push((key.clone(), format!("value {i}").into_bytes()));
        if i % 10 == 0 {
            records.push((key, b"again".to_vec()));
        }
    }
    records
}

/// 600 paths in front-coded blocks of 1 KiB; every seventh has a second record.
fn paths() -> Records {
    let folders = ["engine", "engine/table", "model", "papers/alex"];
    let path = |i: u64| format!("src/{}/{}{:x}.rs", folders[(i / 150) as usize], "part".repeat(i as usize % 3), i * 79);
    let mut records: Records = (0..600).map(|i| (path(i).into_bytes(), vec![b'.'; i as usize % 2])).collect();
    records.extend((0..600).step_by(7).map(|i| (path(i).into_bytes(), b"again".to_vec())));
    records.sort_by(|one, other| one.0.cmp(&other.0));
    records
}

/// 220 byte strings in blocks compressed with LZ4, with a filter, evenly spread under one prefix; the last value is
/// long.
fn packed() -> Records {
    let key = |i: u64| [&b"key "[..], &(i << 20).to_be_bytes()].concat();
    let mut records: Records = (0..220).map(|i| (key(i), vec![b'v'; 100])).collect();
    records[219].1 = (0..300_u32).map(|i| (i * 31) as u8).collect();
    records
}

/// The type of the keys of [`visits`].
const VISITS: &str = "(text? nulls first, date desc)";

/// 120 visits of seven users, or of unknown ones, in blocks of 512 bytes.
fn visits() -> Records {
    let key_type: KeyType = VISITS.parse().unwrap();
    let record = |i: i128| {
        let user = if i % 5 == 0 { Value::Null } else { Value::Text(format!("user{}", i % 7)) };
        let key = key_type.encode(&Value::Tuple(vec![user, Value::Signed(19_000 + i * 13)])).unwrap();
        (key, format!("value {i}").into_bytes())
    };
    let mut records: Records = (0..120).map(record).collect();
    records.sort();
    records
}

/// 500 UUIDs in coded blocks of 512 bytes, with values of different lengths.
fn uuids() -> Records {
    let mixed = |i: u64| ((i << 54) | (i * 7919)).wrapping_mul(3);
    let key = |i: u64| {
        let (high, low) = (mixed(i), mixed(i + 1000).rotate_left(9));
        let (time, version) = (high >> 16 & 0xffff, high & 0xffff);
        format!("{:08x}-{time:04x}-{version:04x}-{:04x}-{:012x}", high >> 32, low >> 48, low & 0xffff_ffff_ffff)
    };
    let value = |i: u64| vec![b'v'; (i % 13) as usize];
    let mut records: Records = (0..500).map(|i| (key(i).into_bytes(), value(i))).collect();
    records.sort();
    records
}

/// 600 integers with values that are numbers, in coded blocks of 512 bytes.
fn readings() -> Records {
    let time = |i: u64| 1_700_000_000_000 + i * 250 + i * i % 11;
    (0..600).map(|i| (time(i).to_be_bytes().to_vec(), (4000 + i * 7 % 100).to_le_bytes().to_vec())).collect()
}

fn check(file: &[u8], records: &Records) -> Table {
    let storage = Arc::new(MemoryStorage::new());
    storage.put("fixture", file.to_vec()).unwrap();
    let table = Table::open(storage, "fixture", &TableOptions::default()).unwrap();
    assert_eq!(&table.iter().collect::<Result<Records, _>>().unwrap(), records);
    for (rank, (key, value)) in records.iter().enumerate() {
        assert!(table.get_all(key).unwrap().contains(value), "{key:?}");
        assert_eq!(table.nth(rank as u64).unwrap().as_ref(), Some(&records[rank]));
        let first = records.partition_point(|(other, _)| other < key);
        assert_eq!(table.rank(key).unwrap(), first as u64);
    }
    let verified = table.verify(&mut |_, _| {}).unwrap();
    assert!(verified.is_sound(), "{:?}", verified.findings);
    table
}

#[cfg(feature = "lz4")]
#[test]
fn version_1_packed_integers_under_steps_and_lines_are_read() {
    let table = check(include_bytes!("../fixtures/v1-numbers.ogive"), &numbers());
    assert_eq!(table.get(&5_u64.to_be_bytes()).unwrap(), None);
    let kinds: Vec<_> = table.explain().layers.iter().map(|layer| layer.kind.clone()).collect();
    assert!(kinds[0].starts_with("gstep") && kinds[1].starts_with("gband"), "{kinds:?}");
}

#[test]
fn version_1_words_with_duplicates_are_read() {
    let table = check(include_bytes!("../fixtures/v1-words.ogive"), &words());
    assert_eq!(table.get(b"00000").unwrap(), None);
    assert_eq!(table.property("origin"), Some(&b"fixture"[..]));
    assert!(table.explain().count_bytes > 0);
}

#[cfg(feature = "lz4")]
#[test]
fn version_1_packed_blocks_and_a_long_value_behind_a_filter_are_read() {
    let table = check(include_bytes!("../fixtures/v1-packed.ogive"), &packed());
    assert_eq!(table.get(b"key").unwrap(), None);
    let report = table.explain();
    assert_eq!(report.compression, "lz4");
    assert!(report.filter_bytes > 0 && report.location_bytes > 0);
}

#[test]
fn version_3_tuples_with_nulls_are_read() {
    let table = check(include_bytes!("../fixtures/v3-visits.ogive"), &visits());
    assert_eq!(table.key_type().to_string(), VISITS);
    assert_eq!(table.key_type().display(&visits()[0].0), ",2026-02-11");
}

#[test]
fn version_3_rows_and_names_of_columns_are_read() {
    let types: ValueType = "{name: text, price: f64, born: date?}".parse().unwrap();
    let rows = [(1_u64, "\"Bo, jr\",2,1991-01-31"), (2, "\"\",-0.25,"), (3, "Ann,1.5,1990-05-01")];
    let records: Records = rows.map(|(key, row)| (key.to_be_bytes().to_vec(), types.parse(row).unwrap())).into();
    let table = check(include_bytes!("../fixtures/v3-people.ogive"), &records);
    assert_eq!(table.value_type(), &types);
    let columns: Vec<String> = table.record_type().columns().into_iter().map(|column| column.name).collect();
    assert_eq!(columns, ["name", "id", "price", "born"]);
}

#[test]
fn version_4_coded_text_is_read() {
    let table = check(include_bytes!("../fixtures/v4-uuids.ogive"), &uuids());
    assert_eq!(table.get(b"00000000-0000-0000-0000-000000000000").unwrap(), None);
    // Keys alone have 36 bytes.
    assert!(table.explain().data_bytes < 500 * 36);
}

#[test]
fn version_4_front_coded_text_is_read() {
    let table = check(include_bytes!("../fixtures/v4-paths.ogive"), &paths());
    assert_eq!(table.get(b"src/engine").unwrap(), None);
    let key_bytes: usize = paths().iter().map(|(key, _)| key.len()).sum();
    assert!(table.explain().data_bytes < key_bytes as u64 / 2);
}

#[test]
fn version_4_coded_integers_and_values_are_read() {
    let table = check(include_bytes!("../fixtures/v4-readings.ogive"), &readings());
    assert_eq!(table.get(&1_700_000_000_001_u64.to_be_bytes()).unwrap(), None);
    assert!(table.explain().data_bytes < 600 * 5);
}
