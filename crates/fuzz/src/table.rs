//! Fuzz target: whole table files.

use crate::input::take_u8;
use ogive::block::checksum;
use ogive::io::MemoryStorage;
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Compression, KeyType};
use std::error::Error;
use std::sync::Arc;

const NAME: &str = "table";
/// Magic, version, file id, lengths of tail and metadata, checksum.
const FOOTER_BYTES: usize = 32;
/// The smallest size of blocks, and that of units.
const PART_BYTES: usize = 512;
/// Records taken from each end of a scan.
const MOST_SCANNED: usize = 2000;
const BUDGET_BYTES: u64 = 1 << 20;

/// Seals the tail, so that changes of root, locations and metadata come through.
const SEAL_TAIL: u8 = 1;
/// Seals every 512 bytes before the tail, so that changes of blocks and units come through.
const SEAL_PARTS: u8 = 2;

/// Opens any bytes as a table and asks everything. Input: which checksums are made right u8, the file.
///
/// # Panics
/// When a record comes out that a lookup of its key denies, although the walk finds the table sound: the broken
/// promise.
pub fn open(data: &[u8]) {
    let Ok(table) = sealed(data) else { return };
    let _ = table.explain();
    let sound = table.verify(&mut |_, _| ()).is_ok_and(|report| report.is_sound());
    let mut keys = vec![Vec::new(), b"key 0100".to_vec(), vec![0; 8], vec![0xFF; 8]];
    keys.extend(table.iter().take(MOST_SCANNED).map_while(Result::ok).map(|(key, _)| key).step_by(31));
    keys.extend(table.iter().rev().take(MOST_SCANNED).map_while(Result::ok).map(|(key, _)| key).step_by(31));
    for (number, key) in keys.iter().enumerate() {
        let found = table.contains_key(key);
        assert!(!sound || number < 4 || found.is_ok_and(|found| found), "{key:?} is not found");
        ask(&table, key);
    }
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let _ = (table.multi_get(&keys), table.first(), table.last());
    for position in [0, 1, table.len() / 2, table.len().saturating_sub(1), u64::MAX] {
        let _ = table.nth(position);
    }
}

/// The table that an input makes.
fn sealed(mut data: &[u8]) -> ogive::Result<Table> {
    let mode = take_u8(&mut data);
    let mut file = data.to_vec();
    seal(&mut file, mode);
    let storage = MemoryStorage::new();
    storage.put(NAME, file)?;
    Table::open((Arc::new(storage), NAME), &TableOptions::default().memory_bytes(BUDGET_BYTES))
}

/// Asks all that can be asked of one key.
fn ask(table: &Table, key: &[u8]) {
    let _ = (table.get(key), table.get_all(key), table.get_version(key, 7), table.rank(key), table.count(key..));
    let _ = table.range(key..).take(3).count();
    let _ = table.range(..key).rev().take(3).count();
    if let Ok(Some(reader)) = table.value_reader(key) {
        let _ = reader.read_to_vec(BUDGET_BYTES);
    }
}

/// Makes the checksums right that `mode` names, where the file has a footer.
fn seal(file: &mut [u8], mode: u8) {
    let Some(footer) = file.len().checked_sub(FOOTER_BYTES).map(|at| &file[at..]) else { return };
    let word = |at: usize| u32::from_le_bytes([footer[at], footer[at + 1], footer[at + 2], footer[at + 3]]);
    let file_id = u64::from(word(12)) | u64::from(word(16)) << 32;
    let Some(tail) = file.len().checked_sub(word(20) as usize) else { return };
    if mode & SEAL_PARTS != 0 {
        for (part, offset) in file[..tail].chunks_exact_mut(PART_BYTES).zip((0..).step_by(PART_BYTES)) {
            // Zeros lie between the sections, and have no checksum.
            if part.iter().any(|&byte| byte != 0) {
                checksum::seal(file_id, offset, part);
            }
        }
    }
    if mode & SEAL_TAIL != 0 {
        checksum::seal(file_id, tail as u64, &mut file[tail..]);
    }
}

/// Tables of text with repeated keys and a long value, and of integers under two layers.
pub fn open_seeds() -> Vec<Vec<u8>> {
    let texts = [Compression::None, Compression::Lz4].into_iter().filter_map(|compression| texts(compression).ok());
    let texts = texts.map(|file| [&[SEAL_TAIL], file.as_slice()].concat());
    let designs = ["layers=2,builder=gstep/gband,lambda=1024/2048", "layers=2,builder=eband/coded,lambda=1024/512"];
    let made = designs.into_iter().filter_map(|design| numbers(design).ok());
    texts.chain(made.map(|file| [&[SEAL_TAIL | SEAL_PARTS], file.as_slice()].concat())).collect()
}

/// A table of text, with a filter. The checksums of its blocks are bound to a file id that is drawn by chance.
fn texts(compression: Compression) -> Result<Vec<u8>, Box<dyn Error>> {
    let storage = MemoryStorage::new();
    let options = TableWriteOptions::default()
        .key_type(KeyType::Text)
        .block_bytes(PART_BYTES as u32)
        .compression(compression)
        .filter_bits_per_key(Some(10));
    let mut writer = TableWriter::create((Arc::new(storage.clone()), NAME), options)?;
    for number in 0..300_u32 {
        let value = vec![number as u8; if number % 100 == 99 { 1000 } else { number as usize % 7 }];
        writer.append(format!("key/{:05}", number / 2 * 37).as_bytes(), &value)?;
    }
    writer.finish()?;
    Ok(storage.content(NAME)?)
}

/// A table of integers whose file id is not drawn by chance.
fn numbers(design: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let storage = MemoryStorage::new();
    let options = TableWriteOptions::default()
        .key_type(KeyType::U64)
        .value_width(8)
        .block_bytes(PART_BYTES as u32)
        // Blocks of one number of records need no counts, whose checksum is not at the end of a part.
        .coding(false)
        .design(design.parse()?);
    let mut writer = TableWriter::create((Arc::new(storage.clone()), NAME), options)?;
    for number in 0..2600_u64 {
        writer.append(&(number * number * 7919).to_be_bytes(), &number.to_le_bytes())?;
    }
    writer.finish()?;
    let mut file = storage.content(NAME)?;
    let id_at = file.len() - FOOTER_BYTES + 12;
    file[id_at..id_at + 8].copy_from_slice(&7_u64.to_le_bytes());
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_tables_whose_records_are_all_found() {
        let seeds = open_seeds();
        for seed in &seeds {
            let table = sealed(seed).expect("a table");
            assert!(
                table.iter().all(|record| record.is_ok_and(|(key, _)| table.contains_key(&key).is_ok_and(|it| it)))
            );
            let report = table.verify(&mut |_, _| ()).expect("a report");
            assert!(report.is_sound(), "{report:?}");
        }
        assert_eq!(seeds.len(), 4);
        let layers = |seed: &Vec<u8>| sealed(seed).map_or(0, |table| table.explain().layers.len());
        assert_eq!(seeds.iter().skip(2).map(layers).collect::<Vec<_>>(), [2, 2]);
    }
}
