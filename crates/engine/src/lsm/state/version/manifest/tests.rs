//! Damage tests of manifests. Goal: a damaged manifest is refused, and only a torn tail is cut. Method: every
//! truncation and every bit flip of manifests of each kind, compared with the states that were written; and files in
//! places where they do not belong.

use super::record::ManifestHeader;
use super::{ClosedLengths, Manifest, RecoveredManifest, recover, recover_with_true_version, remove_leftovers};
use crate::error::{Cause, Error, Result};
use crate::io::{MemoryStorage, Storage};
use crate::lsm::state::version::edit::ManifestEdit;
use crate::lsm::state::version::file_names::{FileKind, file_name};
use crate::lsm::state::version::state::ManifestState;
use crate::lsm::state::version::tests::table;
use std::sync::Arc;

const OWNER: u64 = 0x0123_4567_89ab_cdef;
const NUMBER: u64 = 2;

/// An edit that adds table `number` to level 0.
pub(super) fn flush(number: u64) -> ManifestEdit {
    ManifestEdit {
        added: vec![(0, 0, Arc::new(table(number, number, number + 3, (number * 10, number * 10 + 9))))],
        next_file: Some(number + 1),
        last_sequence: Some(number * 10 + 9),
        ..ManifestEdit::default()
    }
}

/// A manifest of a state and `edits` synced edits, with the states it went through.
fn written(edits: u64) -> (Vec<u8>, Vec<ManifestState>) {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let mut states = vec![ManifestState::new(OWNER).apply(&flush(NUMBER)).unwrap()];
    let mut manifest = Manifest::create(&storage, NUMBER, &states[0], None).unwrap();
    for number in 0..edits {
        let edit = flush(10 + number);
        manifest.append(&edit).unwrap();
        manifest.sync().unwrap();
        states.push(states[states.len() - 1].apply(&edit).unwrap());
    }
    (memory.content("000002.manifest").unwrap(), states)
}

fn read(bytes: &[u8]) -> Result<Option<RecoveredManifest>> {
    let memory = MemoryStorage::new();
    memory.put("000002.manifest", bytes.to_vec()).unwrap();
    recover(&memory)
}

fn is_damaged<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error { cause: Cause::Damaged, .. }))
}

#[test]
fn what_was_written_comes_back() {
    let (bytes, states) = written(3);
    let recovered = read(&bytes).unwrap().unwrap();
    assert_eq!(recovered, RecoveredManifest { state: states[3].clone(), number: NUMBER, closed: None });
    assert_eq!(recover(&MemoryStorage::new()).unwrap(), None);
}

#[test]
fn every_cut_is_a_state_that_was_or_damage() {
    let (bytes, states) = written(3);
    let mut seen = vec![0; states.len()];
    for cut in 0..bytes.len() {
        match read(&bytes[..cut]) {
            Ok(Some(recovered)) => {
                let place = states.iter().position(|state| *state == recovered.state).unwrap();
                seen[place] += 1;
            }
            result => assert!(is_damaged(&result), "cut at {cut}"),
        }
    }
    assert!(seen.iter().all(|&count| count > 0) && seen.is_sorted_by(|_, _| true));
    // The initial state was durable before the file got its name, so no power loss cuts it.
    let (_, first) = (0..bytes.len()).map(|cut| (cut, read(&bytes[..cut]))).find(|(_, result)| result.is_ok()).unwrap();
    assert_eq!(first.unwrap().unwrap().state, states[0]);
}

#[test]
fn every_flipped_bit_is_told_or_changes_nothing() {
    let (bytes, states) = written(3);
    let mut harmless = 0;
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match read(&flipped) {
            // The last marker only states that the edits before it are durable.
            Ok(found) => {
                assert_eq!(found.unwrap().state, states[3], "bit {bit}");
                harmless += 1;
            }
            result => assert!(is_damaged(&result), "bit {bit}"),
        }
    }
    assert_eq!(harmless, 17 * 8, "the bits of the last mark");
}

#[test]
fn an_edit_that_was_not_synced_and_is_torn_is_cut_off() {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let state = ManifestState::new(OWNER).apply(&flush(NUMBER)).unwrap();
    let mut manifest = Manifest::create(&storage, NUMBER, &state, None).unwrap();
    let before = memory.content("000002.manifest").unwrap().len();
    for number in 10..13 {
        manifest.append(&flush(number)).unwrap();
    }
    let bytes = memory.content("000002.manifest").unwrap();
    for place in before..bytes.len() {
        let mut torn = bytes.clone();
        torn[place] ^= 0xff;
        let found = read(&torn).unwrap().unwrap().state;
        assert!(found.tables().count() < 4, "place {place}");
    }
}

#[test]
fn a_closed_manifest_proves_its_length_and_its_bits() {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let state = ManifestState::new(OWNER).apply(&flush(NUMBER)).unwrap();
    let lengths =
        ClosedLengths { anchor: Some(u64::MAX), logs: vec![(7, 1 << 40), (9, 40)], value_files: vec![(8, 300)] };
    Manifest::create(&storage, NUMBER, &state, Some(&lengths)).unwrap();
    let bytes = memory.content("000002.manifest").unwrap();
    assert_eq!(read(&bytes).unwrap().unwrap().closed, Some(lengths));
    for cut in 0..bytes.len() {
        assert!(is_damaged(&read(&bytes[..cut])), "cut at {cut}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_err(), "bit {bit}");
    }
    for tail in [&[0_u8][..], &[0; 512], b"more"] {
        assert!(is_damaged(&read(&[&bytes[..], tail].concat())));
    }
}

#[test]
fn a_damaged_manifest_is_never_passed_over_for_an_older_one() {
    let (bytes, _) = written(1);
    let memory = MemoryStorage::new();
    memory.put("000002.manifest", bytes.clone()).unwrap();
    memory.put("000003.manifest", bytes).unwrap();
    assert!(is_damaged(&recover(&memory)), "the older one under a newer name");
    memory.put("000003.manifest", Vec::new()).unwrap();
    assert!(is_damaged(&recover(&memory)), "an empty one");
}

#[test]
fn files_of_a_store_without_a_manifest_are_damage_and_leftovers_are_not() {
    for kind in [FileKind::Table, FileKind::Log, FileKind::Values] {
        let memory = MemoryStorage::new();
        memory.put(&file_name(5, kind), Vec::new()).unwrap();
        assert!(is_damaged(&recover(&memory)));
    }
    let memory = MemoryStorage::new();
    memory.put("LOCK", Vec::new()).unwrap();
    memory.put("000004.manifest.new", b"torn".to_vec()).unwrap();
    assert_eq!(recover(&memory).unwrap(), None);
    remove_leftovers(&memory).unwrap();
    assert_eq!(memory.list().unwrap(), ["LOCK"]);
}

#[test]
fn numbers_of_files_that_no_edit_names_are_not_used_again() {
    let (bytes, states) = written(2);
    let memory = MemoryStorage::new();
    memory.put("000002.manifest", bytes).unwrap();
    memory.put("000500.table", Vec::new()).unwrap();
    memory.put("000501.manifest.new", Vec::new()).unwrap();
    let recovered = recover(&memory).unwrap().unwrap();
    assert_eq!((recovered.state.next_file, states[2].next_file), (502, 12));
    memory.put("18446744073709551615.table", Vec::new()).unwrap();
    assert_eq!(recover(&memory).unwrap().unwrap().state.next_file, 502, "a number that no store gives out");
    memory.put("18446744073709551615.manifest", Vec::new()).unwrap();
    assert!(is_damaged(&recover(&memory)));
}

#[test]
fn a_version_that_is_not_known_is_told() {
    let (mut bytes, _) = written(1);
    let head = ManifestHeader::decode(&bytes, NUMBER).unwrap().unwrap();
    let mut newer = Vec::new();
    ManifestHeader { version: 9, ..head }.encode(&mut newer);
    bytes[..newer.len()].copy_from_slice(&newer);
    assert!(matches!(read(&bytes), Err(Error { cause: Cause::Version { found: 9, supported: 5 }, .. })));
}

#[test]
fn a_version_that_is_damaged_is_no_newer_one() {
    let (bytes, states) = written(3);
    for bit in 0..32 {
        let mut flipped = bytes.clone();
        flipped[8 + bit / 8] ^= 1 << (bit % 8);
        assert!(is_damaged(&read(&flipped)), "bit {bit}");
        let memory = MemoryStorage::new();
        memory.put(&file_name(NUMBER, FileKind::Manifest), flipped).unwrap();
        let recovered = recover_with_true_version(&memory, NUMBER).unwrap().unwrap();
        assert_eq!(recovered.state, states[3], "bit {bit}");
    }
}
