//! The simulated disk forgets what it may forget, and nothing else.

use ogive::io::{Purpose, ReadRequest, Storage};
use ogive::{Cause, Error};
use ogive_testkit::{CrashOptions, SimulatedDisk, Survival, enumerate_crashes};
use std::collections::BTreeSet;

fn write(disk: &SimulatedDisk, name: &str, content: &[u8], sync: bool) -> ogive::Result<()> {
    let mut file = disk.create(name)?;
    file.append(content)?;
    if sync {
        file.sync()?;
    }
    Ok(())
}

fn content(disk: &SimulatedDisk, name: &str) -> Option<Vec<u8>> {
    disk.files().remove(name)
}

/// All the survivals, and many random ones.
fn survivals() -> impl Iterator<Item = Survival> {
    let fixed = [Survival::Nothing, Survival::Everything, Survival::NamesOnly, Survival::WritesOnly];
    fixed.into_iter().chain((0..300).flat_map(|seed| [Survival::Prefix(seed), Survival::Subset(seed)]))
}

#[test]
fn what_was_synced_survives_every_crash() {
    let disk = SimulatedDisk::new();
    write(&disk, "a", &[7; 5_000], true).unwrap();
    disk.sync_directory().unwrap();
    write(&disk, "b", &[9; 5_000], false).unwrap();
    for survival in survivals() {
        assert_eq!(content(&disk.crash(survival), "a").unwrap(), [7; 5_000], "{survival:?}");
    }
    assert_eq!(disk.changes_at_risk(), 2);
}

/// Pitfall: the file is synced, its directory is not.
#[test]
fn a_synced_file_is_lost_with_its_unsynced_name() {
    let disk = SimulatedDisk::new();
    write(&disk, "a", b"x", true).unwrap();
    assert!(disk.crash(Survival::Nothing).files().is_empty());
    assert!(disk.crash(Survival::WritesOnly).files().is_empty());
    assert_eq!(content(&disk.crash(Survival::NamesOnly), "a").unwrap(), b"x");
}

#[test]
fn a_directory_sync_makes_names_durable_and_leaves_writes_at_risk() {
    let disk = SimulatedDisk::new();
    write(&disk, "a", b"data", false).unwrap();
    disk.sync_directory().unwrap();
    assert_eq!(content(&disk.crash(Survival::Nothing), "a").unwrap(), b"");
    assert_eq!(content(&disk.crash(Survival::Everything), "a").unwrap(), b"data");
}

/// Pitfall: renamed without syncing the data first.
#[test]
fn a_rename_ahead_of_its_data_leaves_an_empty_file() {
    let disk = SimulatedDisk::new();
    write(&disk, "tmp", b"data", false).unwrap();
    disk.rename("tmp", "final").unwrap();
    let after = disk.crash(Survival::NamesOnly);
    assert_eq!(after.list().unwrap(), ["final"]);
    assert_eq!(content(&after, "final").unwrap(), b"");
}

#[test]
fn a_rename_leaves_the_old_file_or_the_new_one_under_the_name() {
    let disk = SimulatedDisk::with_files([("a".to_owned(), b"old".to_vec())]);
    write(&disk, "tmp", b"new", true).unwrap();
    disk.sync_directory().unwrap();
    disk.rename("tmp", "a").unwrap();
    let outcomes: BTreeSet<_> = survivals().map(|survival| content(&disk.crash(survival), "a").unwrap()).collect();
    assert_eq!(outcomes.into_iter().collect::<Vec<_>>(), [b"new".to_vec(), b"old".to_vec()]);
}

/// Pitfalls: torn pages, and un-synced writes that reach the disk in any order.
#[test]
fn unsynced_writes_are_dropped_torn_and_reordered_but_never_within_a_sector() {
    let disk = SimulatedDisk::with_files([("seed".to_owned(), vec![0; 0])]);
    let mut file = disk.create("a").unwrap();
    disk.sync_directory().unwrap();
    file.append(&[0; 2_048]).unwrap();
    file.sync().unwrap();
    file.write_at(0, &[1; 2_048]).unwrap();
    file.write_at(1_024, &[2; 1_024]).unwrap();
    let images: BTreeSet<Vec<u8>> = survivals().map(|survival| content(&disk.crash(survival), "a").unwrap()).collect();
    for image in &images {
        assert_eq!(image.len(), 2_048);
        assert!(image.chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])), "a torn sector");
    }
    let firsts: BTreeSet<Vec<u8>> = images.iter().map(|image| image.iter().step_by(512).copied().collect()).collect();
    assert!(firsts.contains(&vec![0, 0, 2, 2]), "the later write alone");
    assert!(firsts.contains(&vec![1, 1, 1, 1]), "the earlier write alone");
    for tear in [Survival::Prefix, Survival::Subset] {
        let torn = |image: Vec<u8>| image[0] != image[512];
        assert!((0..300).any(|seed| torn(content(&disk.crash(tear(seed)), "a").unwrap())), "a torn write");
    }
}

#[test]
fn a_file_that_grew_may_hold_zeros_or_stale_bytes() {
    let disk = SimulatedDisk::new();
    let mut file = disk.create("a").unwrap();
    disk.sync_directory().unwrap();
    file.append(&[5; 4_096]).unwrap();
    let images: Vec<Vec<u8>> = survivals().map(|survival| content(&disk.crash(survival), "a").unwrap()).collect();
    assert!(images.iter().any(|image| image.is_empty()));
    assert!(images.iter().any(|image| image.contains(&0)));
    assert!(images.iter().any(|image| image.iter().any(|byte| ![0, 5].contains(byte))));
}

#[test]
fn the_same_fate_gives_the_same_disk() {
    let disk = SimulatedDisk::new();
    write(&disk, "a", &[3; 9_999], false).unwrap();
    write(&disk, "b", &[4; 9_999], false).unwrap();
    for survival in survivals() {
        assert_eq!(disk.crash(survival).files(), disk.crash(survival).files());
    }
}

#[test]
fn after_the_power_is_gone_every_call_fails() {
    let disk = SimulatedDisk::with_files([("a".to_owned(), b"x".to_vec())]);
    let reader = disk.open("a").unwrap();
    let mut writer = disk.create("b").unwrap();
    disk.stop_at(1);
    assert!(writer.append(b"lost or kept").is_err());
    assert!(disk.is_stopped());
    assert!(matches!(writer.append(b"y"), Err(Error { cause: Cause::Poisoned, .. })));
    assert!(reader.read(ReadRequest { offset: 0, buffer: &mut [0], purpose: Purpose::Data }).is_err());
    assert!(disk.open("a").is_err() && disk.list().is_err() && disk.sync_directory().is_err());
    assert!(disk.exists("a").is_err() && disk.remove("a").is_err() && disk.lock("l").is_err());
    assert_eq!(content(&disk.crash(Survival::Everything), "b").unwrap(), b"lost or kept");
    assert!(!disk.crash(Survival::Nothing).is_stopped());
}

#[test]
fn locks_conflict_and_do_not_outlive_a_crash() {
    let disk = SimulatedDisk::new();
    let held = disk.lock("LOCK").unwrap();
    assert!(matches!(disk.lock("LOCK"), Err(Error { cause: Cause::Locked { .. }, .. })));
    disk.crash(Survival::Everything).lock("LOCK").unwrap();
    drop(held);
    disk.lock("LOCK").unwrap();
}

/// The right order of calls: write, sync, rename, sync the directory.
fn replace(disk: &SimulatedDisk, sync_data: bool, sync_directory: bool) -> ogive::Result<()> {
    write(disk, "tmp", &[2; 3_000], sync_data)?;
    disk.rename("tmp", "a")?;
    if sync_directory { disk.sync_directory() } else { Ok(()) }
}

fn check_replaced(outcome: &ogive::Result<()>, disk: &SimulatedDisk) -> Result<(), String> {
    let found = content(disk, "a").ok_or("the name is gone")?;
    match (outcome.is_ok(), found == [1; 2_000], found == [2; 3_000]) {
        (_, false, false) => Err(format!("neither the old file nor the new one, but {} bytes", found.len())),
        (true, true, false) => Err("what was acknowledged is gone".to_owned()),
        _ => Ok(()),
    }
}

#[test]
fn the_enumerator_passes_an_atomic_replacement_and_catches_each_missing_sync() {
    let start = SimulatedDisk::with_files([("a".to_owned(), vec![1; 2_000])]);
    let run = |sync_data, sync_directory| {
        enumerate_crashes(
            CrashOptions::default(),
            &start,
            |disk| replace(disk, sync_data, sync_directory),
            |outcome, disk, _| check_replaced(outcome, disk),
        )
    };
    let report = run(true, true).unwrap();
    assert_eq!((report.points, report.images), (6, 72));
    assert!(run(false, true).unwrap_err().detail.contains("neither"));
    let failure = run(true, false).unwrap_err();
    assert!(failure.detail.contains("acknowledged") && failure.point.completed, "{failure}");
    assert_eq!(start.mutating_calls(), 0);
}
