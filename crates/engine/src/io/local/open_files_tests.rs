//! Tests of the handle budget. Goal: any number of files can be read with few handles, and each read reaches the file
//! that was opened, whatever happens to its name. Method: more real files than handles, removed and replaced by this
//! process and by others.

use super::open_files;
use crate::error::{Cause, Error, Result};
use crate::io::LocalStorage;
use crate::io::storage::request::{Purpose, ReadRequest};
use crate::io::storage::traits::{ReadableFile, Storage};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LIMIT: usize = 8;
const FILES: usize = 40;

fn name(number: usize) -> String {
    format!("file-{number}")
}

fn content(number: usize) -> Vec<u8> {
    (0..1000).map(|at| (number * 31 + at) as u8).collect()
}

fn storage(folder: &tempfile::TempDir) -> LocalStorage {
    LocalStorage::new(folder.path()).with_open_files(LIMIT)
}

fn filled(direct: bool) -> (tempfile::TempDir, LocalStorage, Vec<Arc<dyn ReadableFile>>) {
    let folder = tempfile::tempdir_in(".").unwrap();
    let mut storage = storage(&folder);
    if direct {
        storage = LocalStorage::direct(folder.path()).with_open_files(LIMIT);
    }
    (0..FILES).for_each(|number| std::fs::write(folder.path().join(name(number)), content(number)).unwrap());
    let files = (0..FILES).map(|number| storage.open(&name(number)).unwrap()).collect();
    (folder, storage, files)
}

fn read(file: &dyn ReadableFile) -> Result<Vec<u8>> {
    let mut buffer = vec![0; 700];
    file.read(ReadRequest { offset: 300, buffer: &mut buffer, purpose: Purpose::Data })?;
    Ok(buffer)
}

fn check(files: &[Arc<dyn ReadableFile>], numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        assert_eq!(read(&*files[number]).unwrap(), content(number)[300..], "file {number}");
    }
}

#[test]
fn more_files_than_handles_are_read_in_any_order() {
    for direct in [false, true] {
        let (_folder, storage, files) = filled(direct);
        assert!(storage.open_files().open <= LIMIT, "{:?}", storage.open_files());
        for step in [1, 7, 39] {
            check(&files, (0..4 * FILES).map(|at| at * step % FILES));
        }
        let counts = storage.open_files();
        assert!(counts.open_max <= LIMIT && counts.reopened > FILES as u64, "{counts:?}");
        drop(files);
        assert_eq!(storage.open_files().open, 0);
    }
}

#[test]
fn what_is_read_again_and_again_stays_open() {
    let (_folder, storage, files) = filled(false);
    check(&files, 0..LIMIT / 2);
    let before = storage.open_files().reopened;
    for _ in 0..100 {
        check(&files, 0..LIMIT / 2);
    }
    assert_eq!(storage.open_files().reopened, before);
}

/// Regression: a file is unlinked while it is read.
#[test]
fn a_file_that_is_removed_or_replaced_here_is_read_to_the_end() {
    let (folder, storage, files) = filled(false);
    // The remover may use another path, with handles of its own.
    let other = LocalStorage::new(folder.path().join("../").join(folder.path().file_name().unwrap()));
    for number in 0..FILES {
        match number % 3 {
            0 => storage.remove(&name(number)).unwrap(),
            1 => other.remove(&name(number)).unwrap(),
            _ => {
                other.create("new").unwrap().append(b"another file, which is shorter").unwrap();
                other.rename("new", &name(number)).unwrap();
            }
        }
        if number % 3 < 2 {
            // The inode of a removed file is soon reused.
            other.create(&name(number)).unwrap().append(&[9; 2000]).unwrap();
        }
    }
    check(&files, (0..FILES).chain((0..FILES).rev()));
}

#[test]
fn a_file_that_is_renamed_here_is_read_on() {
    let (_folder, storage, files) = filled(false);
    (0..FILES).for_each(|number| storage.rename(&name(number), &format!("moved-{number}")).unwrap());
    check(&files, 0..FILES);
}

/// A name replaced by another process is noticed at the latest when the file is reopened; then the read fails, and
/// never returns bytes of the other file.
#[test]
fn a_file_that_is_replaced_elsewhere_is_read_on_or_told_and_never_mistaken() {
    let (folder, _storage, files) = filled(false);
    let mut told = 0;
    for number in 0..FILES {
        let path = folder.path().join(name(number));
        if number % 2 == 0 {
            std::fs::remove_file(&path).unwrap();
        }
        if number % 4 < 3 {
            std::fs::write(folder.path().join("new"), [9; 1000]).unwrap();
            std::fs::rename(folder.path().join("new"), path).unwrap();
        }
    }
    for number in (0..FILES).filter(|number| number % 4 < 3) {
        match read(&*files[number]) {
            Ok(bytes) => assert_eq!(bytes, content(number)[300..]),
            Err(error @ Error { cause: Cause::FileReplaced, .. }) => {
                told += 1;
                assert!(error.to_string().contains(&name(number)), "{error}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(told >= FILES / 2, "{told}");
}

/// A file whose name was given away by another process is recognised before it is closed, and stays open.
#[test]
fn a_file_whose_name_leads_elsewhere_is_not_closed() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let storage = storage(&folder);
    (0..FILES).for_each(|number| std::fs::write(folder.path().join(name(number)), content(number)).unwrap());
    let mut files = Vec::new();
    for number in 0..FILES {
        files.push(storage.open(&name(number)).unwrap());
        std::fs::remove_file(folder.path().join(name(number))).unwrap();
    }
    check(&files, 0..FILES);
    assert_eq!(storage.open_files().open, FILES);
}

#[test]
fn a_written_file_may_be_closed_when_it_is_finished_and_not_before() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let storage = storage(&folder);
    let written: Vec<_> = (0..FILES).map(|number| storage.create_update(&name(number)).unwrap()).collect();
    assert_eq!(storage.open_files().open, FILES);
    for (number, file) in written.iter().enumerate() {
        file.write_at(0, &content(number), Purpose::Value).unwrap();
        file.sync().unwrap();
        file.finish_writes();
        assert!(matches!(file.write_at(0, b"x", Purpose::Value), Err(Error { cause: Cause::Input, .. })));
    }
    drop(storage.open(&name(0)).unwrap());
    assert!(storage.open_files().open <= LIMIT, "{:?}", storage.open_files());
    for (number, file) in written.iter().enumerate() {
        let mut buffer = [0; 1000];
        file.read(ReadRequest { offset: 0, buffer: &mut buffer, purpose: Purpose::Value }).unwrap();
        assert_eq!(buffer[..], content(number));
    }
}

#[test]
fn threads_that_close_each_others_files_read_what_they_opened() {
    let (_folder, storage, files) = filled(false);
    let removed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (files, storage, removed) = (&files, &storage, &removed);
            scope.spawn(move || {
                for round in 0..300 {
                    let number = (round * 7 + thread * 11) % FILES;
                    if round % 60 == 59 {
                        let next = removed.fetch_add(1, Ordering::Relaxed) as usize;
                        storage.remove(&name(next)).unwrap();
                    }
                    check(files, std::iter::once(number));
                }
            });
        }
    });
    let counts = storage.open_files();
    assert!(counts.reopened > 100, "{counts:?}");
}

#[test]
fn where_the_system_has_no_handle_left_files_are_closed_and_it_is_asked_again() {
    let (_folder, storage, files) = filled(false);
    for code in [23, 24] {
        check(&files, 0..FILES);
        let before = storage.open_files().open;
        let mut refusals = 0;
        // Only files of this pool are closed: other tests of this process count what they have open.
        let outcome = open_files::with_room_made_by(
            || storage.pool.close_some(),
            || {
                refusals += 1;
                if refusals < 3 { Err(io::Error::from_raw_os_error(code)) } else { Ok(()) }
            },
        );
        outcome.unwrap();
        assert!(storage.open_files().open < before, "{before}: {:?}", storage.open_files());
        check(&files, 0..FILES);
        let refuse = || Err::<(), _>(io::Error::from_raw_os_error(code));
        let refused = open_files::with_room_made_by(|| storage.pool.close_some(), refuse).unwrap_err();
        let told = Error::io("open", "a-file", refused).to_string();
        assert!(told.contains("a-file") && told.contains("ulimit -n"), "{told}");
    }
    let other = open_files::with_room(|| Err::<(), _>(ErrorKind::NotFound.into()));
    assert_eq!(other.unwrap_err().kind(), ErrorKind::NotFound);
}
