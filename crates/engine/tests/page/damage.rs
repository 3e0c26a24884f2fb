//! Goal: damage is detected or, at the end of a log, correctly dropped, and never read as content. Method: flipped
//! bits, misplaced and stale pages, logs damaged in the middle or ending in garbage.

use crate::support::{Model, options, transact};
use ogive::io::{MemoryStorage, Purpose, Storage};
use ogive::page::{PageFile, PageOptions, Pages};
use ogive::{Cause, Error};
use ogive_testkit::{FaultInjector, Operation, Random};
use std::collections::BTreeMap;
use std::sync::Arc;

type Files = BTreeMap<String, Vec<u8>>;

const PAGE: usize = 512;
/// Bytes of the header of a segment.
const LOG_HEADER: usize = 64;

fn shared(storage: &MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(storage.clone())
}

fn files(storage: &MemoryStorage) -> Files {
    storage.list().unwrap().into_iter().map(|name| (name.clone(), storage.content(&name).unwrap())).collect()
}

fn with_files(files: &Files) -> MemoryStorage {
    let storage = MemoryStorage::new();
    for (name, content) in files {
        storage.put(name, content.clone()).unwrap();
    }
    storage
}

fn small() -> PageOptions {
    let mut options = options(PAGE);
    options.memory_bytes = 0;
    options
}

/// Some commits after a checkpoint. The files as they are with the log, and the models of the commits in it, the one of
/// the checkpoint first; and the files after a last checkpoint.
fn example() -> (Files, Vec<Model>, Files) {
    let storage = MemoryStorage::new();
    let mut random = Random::new(11);
    let file = PageFile::create(&shared(&storage), "f", &small(), b"head").unwrap();
    let mut model = Model::default();
    for _ in 0..20 {
        model = transact(&file, &model, &mut random, 8).unwrap();
    }
    file.checkpoint().unwrap();
    let mut models = vec![model.clone()];
    while models.len() < 12 {
        let after = transact(&file, &model, &mut random, 4).unwrap();
        if after != model {
            models.push(after.clone());
        }
        model = after;
    }
    let with_log = files(&storage);
    file.close().unwrap();
    (with_log, models, files(&storage))
}

/// Opens, reads everything and verifies; the error, or which model was found.
fn examine(files: &Files, models: &[Model]) -> Result<usize, Error> {
    let storage = with_files(files);
    let file = PageFile::open(&shared(&storage), "f", &small())?;
    let snapshot = file.snapshot()?;
    let index =
        models.iter().rposition(|model| model.state == snapshot.state() && model.check_snapshot(&snapshot).is_ok());
    if let Some(index) = index {
        file.verify(&models[index].claimed())?;
        return Ok(index);
    }
    // Not one of the models: then reading must say so.
    for model in models {
        file.verify(&model.claimed())?;
    }
    panic!("wrong content was shown as right");
}

fn is_typed(error: &Error) -> bool {
    matches!(error, Error { cause: Cause::Damaged | Cause::NotAnIndex | Cause::Version { .. }, .. })
}

#[test]
fn every_flipped_bit_of_a_page_in_use_is_found() {
    let (_, models, files) = example();
    let model = models.last().unwrap();
    let bytes = &files["f"];
    let mut random = Random::new(5);
    let (mut found, mut free) = (0, 0);
    for byte in (0..bytes.len()).step_by(7) {
        let mut damaged = files.clone();
        damaged.get_mut("f").unwrap()[byte] ^= 1 << random.below(8);
        match examine(&damaged, std::slice::from_ref(model)) {
            Ok(_) => {
                assert!(!model.pages.contains_key(&((byte / PAGE) as u32)), "byte {byte}");
                free += 1;
            }
            Err(error) => {
                assert!(is_typed(&error), "{error}");
                found += 1;
            }
        }
    }
    assert!(found > free, "{found} found, {free} in free pages");
}

#[test]
fn a_page_in_the_place_of_another_is_found() {
    let (_, models, files) = example();
    let model = models.last().unwrap();
    let pages: Vec<u32> = model.pages.keys().copied().collect();
    for (&from, &to) in pages.iter().zip(pages.iter().rev()).filter(|(from, to)| from != to) {
        let mut damaged = files.clone();
        let content = damaged.get_mut("f").unwrap();
        content.copy_within(from as usize * PAGE..(from as usize + 1) * PAGE, to as usize * PAGE);
        let storage = with_files(&damaged);
        let file = PageFile::open(&shared(&storage), "f", &small()).unwrap();
        let error = file.snapshot().unwrap().read(to, Purpose::Leaf).unwrap_err();
        assert!(matches!(error, Error { cause: Cause::Damaged, .. }), "{error}");
        assert!(file.verify(&model.claimed()).is_err());
    }
}

#[test]
fn a_page_whose_last_write_was_lost_is_found() {
    let (with_log, models, files) = example();
    let model = models.last().unwrap();
    let (old, new) = (&with_log["f"], &files["f"]);
    let mut stale = 0;
    for page in 0..old.len() / PAGE {
        let range = page * PAGE..(page + 1) * PAGE;
        if old[range.clone()] == new[range.clone()] || range.end <= 8192 {
            continue;
        }
        let mut damaged = files.clone();
        damaged.get_mut("f").unwrap()[range.clone()].copy_from_slice(&old[range]);
        match examine(&damaged, std::slice::from_ref(model)) {
            Ok(_) => assert!(!model.pages.contains_key(&(page as u32)), "page {page}"),
            Err(error) => {
                assert!(matches!(error, Error { cause: Cause::Damaged, .. }), "{error}");
                stale += usize::from(model.pages.contains_key(&(page as u32)));
            }
        }
    }
    assert!(stale > 5, "only {stale} pages");
}

/// The slots of the header, as offsets in the file.
const SLOTS: [usize; 2] = [0, 4096];

#[test]
fn a_damaged_slot_of_the_header_loses_nothing_and_is_restored() {
    let (with_log, models, files) = example();
    let last = models.last().unwrap();
    for (files, slot) in SLOTS.into_iter().flat_map(|slot| [(&with_log, slot), (&files, slot)]) {
        let mut damaged = files.clone();
        damaged.get_mut("f").unwrap()[slot + 33] ^= 4;
        assert_eq!(examine(&damaged, std::slice::from_ref(last)).unwrap(), 0);
        let storage = with_files(&damaged);
        let reading = PageFile::open_read_only(&shared(&storage), "f", &small()).unwrap();
        assert_eq!(reading.snapshot().unwrap().header_copies().unwrap(), 1);
        drop(reading);
        let file = PageFile::open(&shared(&storage), "f", &small()).unwrap();
        assert_eq!(file.snapshot().unwrap().header_copies().unwrap(), 2);
        // The other slot alone is enough from now on.
        let mut other = self::files(&storage);
        other.get_mut("f").unwrap()[4096 - slot + 33] ^= 4;
        assert_eq!(examine(&other, std::slice::from_ref(last)).unwrap(), 0);
    }
}

#[test]
fn damage_in_the_middle_of_a_log_is_no_torn_tail() {
    let (files, models, _) = example();
    let name = files.keys().find(|name| name.starts_with("f.log-")).unwrap().clone();
    let length = files[&name].len();
    let last = models.len() - 1;
    let (mut refused, mut dropped) = (0, 0);
    for byte in 0..length {
        let mut damaged = files.clone();
        damaged.get_mut(&name).unwrap()[byte] ^= 0x10;
        match examine(&damaged, &models) {
            Ok(index) => {
                assert!(index + 1 >= last, "byte {byte} of {length} lost commits: {index} of {last}");
                dropped += 1;
            }
            Err(error) => {
                assert!(is_typed(&error), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > dropped && dropped > 0, "{refused} refused, {dropped} dropped");
}

/// The segment of the log that there is.
fn log_of(files: &Files) -> String {
    files.keys().find(|name| name.starts_with("f.log-")).unwrap().clone()
}

/// Both ways of opening must refuse these files.
fn refused(files: &Files, what: &str) -> String {
    let reading = PageFile::open_read_only(&shared(&with_files(files)), "f", &small()).unwrap_err();
    let writing = PageFile::open(&shared(&with_files(files)), "f", &small()).unwrap_err();
    for error in [&reading, &writing] {
        assert!(matches!(error, Error { cause: Cause::Damaged, .. }), "{what}: {error}");
    }
    writing.to_string()
}

/// Work on a copy of files that goes on by itself; what it leaves when it is killed, with its model.
fn goes_on(files: &Files, model: &Model, seed: u64) -> (Files, Model) {
    let storage = with_files(files);
    let file = PageFile::open(&shared(&storage), "f", &small()).unwrap();
    let mut random = Random::new(seed);
    let mut model = model.clone();
    for _ in 0..6 {
        model = transact(&file, &model, &mut random, 8).unwrap();
    }
    (self::files(&storage), model)
}

#[test]
fn a_log_that_is_lost_as_a_whole_is_no_empty_log() {
    let (files, models, _) = example();
    let log = log_of(&files);
    let length = files[&log].len();
    let mut missing = files.clone();
    missing.remove(&log);
    assert!(refused(&missing, "missing").contains("f.log-"), "the error names the segment");
    let mut random = Random::new(3);
    let noise: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
    // The log of another file of the same age, and of this one at another number.
    let (other, ..) = example();
    let mut older = files[&log].clone();
    older[12] ^= 1;
    for (what, content) in [
        ("emptied", Vec::new()),
        ("zeroed", vec![0; length]),
        ("cut within its header", files[&log][..40].to_vec()),
        ("overwritten", noise),
        ("of another file", other[&log_of(&other)].clone()),
        ("of another number", older),
    ] {
        let mut lost = files.clone();
        lost.insert(log.clone(), content);
        refused(&lost, what);
    }
    assert_eq!(examine(&files, &models).map_err(|error| error.to_string()), Ok(models.len() - 1));
}

#[test]
fn a_lost_segment_behind_another_is_no_empty_log() {
    let (files, models, _) = example();
    let storage = with_files(&files);
    let file = PageFile::open(&shared(&storage), "f", &small()).unwrap();
    // The snapshot keeps the segments before, while commits go on in others.
    let snapshot = file.snapshot().unwrap();
    let mut random = Random::new(1);
    let mut model = transact(&file, models.last().unwrap(), &mut random, 8).unwrap();
    for _ in 0..2 {
        file.checkpoint().unwrap();
        model = transact(&file, &model, &mut random, 8).unwrap();
    }
    let all = self::files(&storage);
    drop((snapshot, file));
    let logs: Vec<String> = all.keys().filter(|name| name.starts_with("f.log-")).cloned().collect();
    assert!(logs.len() >= 3, "{logs:?}");
    assert!(examine(&all, std::slice::from_ref(&model)).is_ok());
    for log in &logs {
        let mut lost = all.clone();
        lost.remove(log);
        refused(&lost, log);
        let mut lost = all.clone();
        lost.get_mut(log).unwrap().fill(0);
        refused(&lost, log);
    }
}

#[test]
fn what_two_copies_wrote_after_they_parted_does_not_pass_for_each_others() {
    let (with_log, models, closed) = example();
    for (what, start) in [("closed", &closed), ("killed", &with_log)] {
        let (left, model) = goes_on(start, models.last().unwrap(), 1);
        let (right, _) = goes_on(start, models.last().unwrap(), 2);
        assert!(examine(&left, std::slice::from_ref(&model)).is_ok(), "{what}");
        let new = |files: &Files| files.keys().rfind(|name| name.starts_with("f.log-")).unwrap().clone();
        assert_eq!(new(&left), new(&right), "{what}: the numbers are the same");
        for swapped in [new(&left), "f".to_owned()] {
            let mut mixed = left.clone();
            mixed.insert(swapped.clone(), right[&swapped].clone());
            refused(&mixed, &format!("{what}: {swapped}"));
        }
        // The file of a time before, beside the log that went on.
        let mut mixed = left.clone();
        mixed.insert("f".into(), start["f"].clone());
        refused(&mixed, &format!("{what}: an older page file"));
    }
}

#[test]
fn a_log_that_was_cut_off_holds_the_commits_before_the_cut() {
    let (files, models, _) = example();
    let name = files.keys().find(|name| name.starts_with("f.log-")).unwrap().clone();
    let mut before = models.len();
    for length in (LOG_HEADER..files[&name].len()).rev() {
        let mut cut = files.clone();
        cut.get_mut(&name).unwrap().truncate(length);
        let index = examine(&cut, &models).unwrap();
        assert!(index + 1 >= before.min(models.len() - 1) && index <= before, "{index} after {before}");
        before = index;
    }
    assert_eq!(before, 0);
}

#[test]
fn garbage_behind_a_log_is_dropped() {
    let (files, models, _) = example();
    let name = files.keys().find(|name| name.starts_with("f.log-")).unwrap().clone();
    let log = files[&name].clone();
    let mut huge = u32::MAX.to_le_bytes().to_vec();
    huge.extend_from_slice(&[1; 50]);
    let mut long = 100_000_u32.to_le_bytes().to_vec();
    long.extend_from_slice(&[1; 50]);
    let again = log[LOG_HEADER..].to_vec();
    for (what, tail) in [
        ("zeros", vec![0; 5_000]),
        ("a huge length", huge),
        ("a long record that ends early", long),
        ("the same records again", again),
        ("one byte", vec![9]),
    ] {
        let mut longer = files.clone();
        longer.get_mut(&name).unwrap().extend_from_slice(&tail);
        assert_eq!(examine(&longer, &models).map_err(|error| error.to_string()), Ok(models.len() - 1), "{what}");
    }
}

#[test]
fn a_segment_of_an_older_log_is_not_replayed() {
    let (files, models, after) = example();
    let (name, log) = files.iter().find(|(name, _)| name.starts_with("f.log-")).unwrap();
    let number: u32 = name["f.log-".len()..].parse().unwrap();
    // It came back after the checkpoint that had passed it, under its own number and under the next.
    for number in [number, number + 1] {
        let mut returned = after.clone();
        returned.insert(format!("f.log-{number}"), log.clone());
        assert_eq!(examine(&returned, &models).map_err(|error| error.to_string()), Ok(models.len() - 1));
    }
}

#[test]
fn a_missing_segment_is_no_empty_log() {
    let (files, models, _) = example();
    let storage = with_files(&files);
    let file = PageFile::open(&shared(&storage), "f", &small()).unwrap();
    // The snapshot keeps the first segment while commits go on in a second.
    let snapshot = file.snapshot().unwrap();
    let mut random = Random::new(1);
    let model = transact(&file, models.last().unwrap(), &mut random, 8).unwrap();
    let mut both = self::files(&storage);
    drop((snapshot, file));
    let first = both.keys().find(|name| name.starts_with("f.log-")).unwrap().clone();
    assert!(both.keys().filter(|name| name.starts_with("f.log-")).count() == 2);
    assert!(examine(&both, std::slice::from_ref(&model)).is_ok());
    both.remove(&first);
    assert!(matches!(examine(&both, std::slice::from_ref(&model)), Err(Error { cause: Cause::Damaged, .. })));
}

#[test]
fn other_files_are_refused_by_name() {
    let storage = MemoryStorage::new();
    storage.put("short", vec![1; 100]).unwrap();
    storage.put("long", vec![1; 10_000]).unwrap();
    for name in ["short", "long"] {
        let error = PageFile::open(&shared(&storage), name, &small()).unwrap_err();
        assert!(matches!(error, Error { cause: Cause::NotAnIndex, .. }), "{error}");
    }
    let error = PageFile::open(&shared(&storage), "none", &small()).unwrap_err();
    assert!(matches!(error, Error { cause: Cause::Io(_), .. }), "{error}");
}

#[test]
fn a_reader_registers_only_with_a_page_file() {
    let storage = MemoryStorage::new();
    storage.put("long", vec![1; 10_000]).unwrap();
    let calls = FaultInjector::new(shared(&storage));
    let counted: Arc<dyn Storage> = Arc::new(calls.clone());
    let error = PageFile::open_read_only(&counted, "long", &small()).unwrap_err();
    assert!(matches!(error, Error { cause: Cause::NotAnIndex, .. }), "{error}");
    // A registration is a file that is removed when it ends.
    assert_eq!(calls.calls(Operation::Remove), 0);
    PageFile::create(&counted, "f", &small(), b"").unwrap();
    let before = calls.calls(Operation::Remove);
    drop(PageFile::open_read_only(&counted, "f", &small()).unwrap());
    assert!(calls.calls(Operation::Remove) > before);
}
