//! Goal: each implementation of `Storage` keeps the contract of the trait.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use ogive::io::{LocalStorage, MemoryStorage, Purpose, RangeRequest, ReadRequest, ReadableFile, Storage};
use ogive::{Cause, Error};
use std::io::ErrorKind;

/// Runs `check` against an empty directory of every kind of storage.
fn on_each_storage(check: impl Fn(&dyn Storage)) {
    check(&MemoryStorage::new());
    // Next to the build's output rather than under /tmp, which may live in memory and refuse direct reads.
    for (direct, direct_writes) in [(false, false), (false, true), (true, false), (true, true)] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let storage = if direct { LocalStorage::direct(folder.path()) } else { LocalStorage::new(folder.path()) };
        check(&if direct_writes { storage.with_direct_writes() } else { storage });
    }
}

fn write(storage: &dyn Storage, name: &str, content: &[u8]) {
    let mut file = storage.create(name).unwrap();
    file.append(content).unwrap();
    file.sync().unwrap();
    storage.sync_directory().unwrap();
}

fn read(file: &dyn ReadableFile, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
    let mut buffer = vec![0; length];
    file.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Data })?;
    Ok(buffer)
}

fn kind(error: &Error) -> ErrorKind {
    match error {
        Error { cause: Cause::Io(kind), .. } => *kind,
        other => panic!("not an error of the system: {other}"),
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 % 253) as u8).collect()
}

#[test]
fn every_range_reads_back_as_written() {
    on_each_storage(|storage| {
        let content = pattern(20_011);
        write(storage, "a", &content);
        let file = storage.open("a").unwrap();
        assert_eq!(file.len(), 20_011);
        for (offset, length) in [(0, 20_011), (0, 4096), (4096, 8192), (1, 1), (4095, 2), (20_010, 1), (16_384, 3_627)]
        {
            assert_eq!(read(&*file, offset, length).unwrap(), content[offset as usize..offset as usize + length]);
        }
        assert!(read(&*file, 20_011, 0).unwrap().is_empty());
        for (offset, length) in [(20_011, 1), (20_010, 2), (u64::MAX, 1), (u64::MAX, 0)] {
            assert_eq!(kind(&read(&*file, offset, length).unwrap_err()), ErrorKind::UnexpectedEof, "{offset}");
        }
    });
}

#[test]
fn many_ranges_read_at_once_land_each_in_its_buffer() {
    on_each_storage(|storage| {
        let content = pattern(300_000);
        write(storage, "a", &content);
        let file = storage.open("a").unwrap();
        let mut buffers: Vec<Vec<u8>> = (0..50).map(|i| vec![0; 1 + i * 97]).collect();
        let requests = buffers.iter_mut().enumerate();
        let requests = requests
            .map(|(i, buffer)| ReadRequest { offset: i as u64 * 5_000, buffer, purpose: Purpose::Data })
            .collect();
        file.read_many(requests).unwrap();
        for (i, buffer) in buffers.iter().enumerate() {
            assert_eq!(buffer, &content[i * 5_000..i * 5_000 + buffer.len()], "range {i}");
        }
        let mut wrong = [vec![0; 10], vec![0; 10]];
        let requests = wrong.iter_mut().enumerate();
        let requests = requests
            .map(|(i, buffer)| ReadRequest { offset: i as u64 * 299_999, buffer, purpose: Purpose::Data })
            .collect();
        assert_eq!(kind(&file.read_many(requests).unwrap_err()), ErrorKind::UnexpectedEof);
        file.read_many(Vec::new()).unwrap();
    });
}

#[test]
fn reads_that_were_started_return_their_ranges_in_order() {
    on_each_storage(|storage| {
        let content = pattern(300_000);
        write(storage, "a", &content);
        write(storage, "b", &content[7..]);
        let (one, other) = (storage.open("a").unwrap(), storage.open("b").unwrap());
        let ranges = |count: u64| -> Vec<RangeRequest> {
            let range = |i| RangeRequest { offset: i * 4_999, bytes: (i * 97) as usize, purpose: Purpose::Data };
            (0..count).map(range).collect()
        };
        let (first, second) = (one.start_reads(&ranges(50)).unwrap(), other.start_reads(&ranges(40)).unwrap());
        drop(one.start_reads(&ranges(45)).unwrap());
        for (pending, skip, count) in [(second, 7, 40), (first, 0, 50)] {
            let filled = pending.wait().unwrap();
            assert_eq!(filled.len(), count);
            for (i, bytes) in filled.iter().enumerate() {
                assert_eq!(bytes[..], content[skip + i * 4_999..][..i * 97], "range {i}");
            }
        }
        let beyond = [RangeRequest { offset: 299_999, bytes: 2, purpose: Purpose::Data }];
        let outcome = one.start_reads(&beyond).and_then(|pending| pending.wait());
        assert_eq!(kind(&outcome.unwrap_err()), ErrorKind::UnexpectedEof);
        assert!(one.start_reads(&[]).unwrap().wait().unwrap().is_empty());
    });
}

#[test]
fn threads_that_share_a_storage_each_get_their_own_ranges() {
    on_each_storage(|storage| {
        let content = pattern(300_000);
        write(storage, "a", &content);
        let file = storage.open("a").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let (file, content) = (&file, &content);
                scope.spawn(move || {
                    for round in 0..20_usize {
                        let place = |i: usize| (thread * 31 + round * 1_009 + i * 7_919) % 290_000;
                        let mut buffers: Vec<Vec<u8>> = (0..40).map(|i| vec![0; 1 + i * 13]).collect();
                        let requests = buffers.iter_mut().enumerate();
                        let requests = requests
                            .map(|(i, buffer)| ReadRequest { offset: place(i) as u64, buffer, purpose: Purpose::Data })
                            .collect();
                        file.read_many(requests).unwrap();
                        for (i, buffer) in buffers.iter().enumerate() {
                            assert_eq!(buffer, &content[place(i)..][..buffer.len()], "{thread}, {round}, {i}");
                        }
                    }
                });
            }
        });
    });
}

#[test]
fn a_write_overwrites_or_extends_but_leaves_no_hole() {
    on_each_storage(|storage| {
        let mut file = storage.create("a").unwrap();
        assert!(file.is_empty());
        file.append(b"hello").unwrap();
        file.write_at(4, b"p me").unwrap();
        file.append(b"!").unwrap();
        file.write_at(0, b"H").unwrap();
        assert!(matches!(file.write_at(10, b"x"), Err(Error { cause: Cause::Input, .. })));
        assert_eq!(file.len(), 9);
        file.sync().unwrap();
        assert_eq!(read(&*storage.open("a").unwrap(), 0, 9).unwrap(), b"Hellp me!");
    });
}

#[test]
fn names_come_and_go_as_in_a_directory() {
    on_each_storage(|storage| {
        write(storage, "b", b"1");
        write(storage, "a", b"22");
        assert_eq!(kind(&storage.create("a").map(|_| ()).unwrap_err()), ErrorKind::AlreadyExists);
        assert_eq!(storage.list().unwrap(), ["a", "b"]);
        storage.rename("b", "a").unwrap();
        assert_eq!(storage.list().unwrap(), ["a"]);
        assert_eq!(storage.open("a").unwrap().len(), 1);
        assert!(storage.exists("a").unwrap() && !storage.exists("b").unwrap());
        storage.remove("a").unwrap();
        assert_eq!(kind(&storage.remove("a").unwrap_err()), ErrorKind::NotFound);
        assert_eq!(kind(&storage.rename("a", "b").unwrap_err()), ErrorKind::NotFound);
        assert_eq!(kind(&storage.open("a").map(|_| ()).unwrap_err()), ErrorKind::NotFound);
        assert!(storage.list().unwrap().is_empty());
    });
}

#[test]
fn a_file_stays_readable_while_it_is_replaced_or_removed() {
    on_each_storage(|storage| {
        write(storage, "a", b"old");
        write(storage, "b", b"new");
        let old = storage.open("a").unwrap();
        storage.rename("b", "a").unwrap();
        assert_eq!(read(&*old, 0, 3).unwrap(), b"old");
        let new = storage.open("a").unwrap();
        storage.remove("a").unwrap();
        assert_eq!(read(&*new, 0, 3).unwrap(), b"new");
    });
}

#[test]
fn a_name_that_would_leave_the_directory_is_refused() {
    on_each_storage(|storage| {
        for name in ["", ".", "..", "../a", "a/b", "/a", "a\0b", "a\\b"] {
            assert!(matches!(storage.create(name), Err(Error { cause: Cause::Input, .. })), "{name:?}");
            assert!(matches!(storage.open(name), Err(Error { cause: Cause::Input, .. })), "{name:?}");
            assert!(matches!(storage.exists(name), Err(Error { cause: Cause::Input, .. })), "{name:?}");
            assert!(matches!(storage.remove(name), Err(Error { cause: Cause::Input, .. })), "{name:?}");
            assert!(matches!(storage.rename(name, "x"), Err(Error { cause: Cause::Input, .. })), "{name:?}");
            assert!(matches!(storage.lock(name), Err(Error { cause: Cause::Input, .. })), "{name:?}");
        }
    });
}

/// Pitfall: POSIX locks let a second open in the same process through, and drop when any descriptor is closed.
#[test]
fn two_opens_in_one_process_conflict_on_a_lock() {
    on_each_storage(|storage| {
        let held = storage.lock("LOCK").unwrap();
        assert!(matches!(storage.lock("LOCK"), Err(Error { cause: Cause::Locked { .. }, .. })));
        drop(storage.open("LOCK").unwrap());
        assert!(matches!(storage.lock("LOCK"), Err(Error { cause: Cause::Locked { .. }, .. })));
        drop(held);
        storage.lock("LOCK").unwrap();
    });
}

#[test]
fn direct_reads_are_direct_or_say_that_they_are_not() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let storage = LocalStorage::direct(folder.path());
    write(&storage, "a", &pattern(10_000));
    let file = storage.open("a").unwrap();
    assert_eq!(read(&*file, 9_000, 1_000).unwrap(), pattern(10_000)[9_000..]);
    assert_eq!(file.is_direct(), !storage.refused_direct());
    assert!(!LocalStorage::new(folder.path()).open("a").unwrap().is_direct());
}

/// Pitfall: O_DIRECT is refused by file systems that live in memory.
#[cfg(target_os = "linux")]
#[test]
fn a_file_system_in_memory_is_read_buffered_and_says_so() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
    let storage = LocalStorage::direct(folder.path());
    write(&storage, "a", b"content");
    let file = storage.open("a").unwrap();
    assert_eq!(read(&*file, 1, 3).unwrap(), b"ont");
    assert!(storage.refused_direct() && !file.is_direct());
}

/// Lengths around the chunk in which direct writes go out, and writes behind, inside and across what has gone out.
#[test]
fn a_file_written_in_chunks_and_overwritten_reads_back_as_written() {
    const CHUNK: usize = 1 << 20;
    on_each_storage(|storage| {
        for (round, length) in [1, 4095, 4096, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5000].into_iter().enumerate() {
            let name = format!("chunk-{round}");
            let mut content = pattern(length);
            let mut file = storage.create(&name).unwrap();
            for part in content.chunks(100_003) {
                file.append(part).unwrap();
            }
            for at in [0, length / 3, length - 1] {
                let overwritten: Vec<u8> = (0..5001).map(|i| (i % 7) as u8).collect();
                file.write_at(at as u64, &overwritten).unwrap();
                content.resize(content.len().max(at + overwritten.len()), 0);
                content[at..at + overwritten.len()].copy_from_slice(&overwritten);
                file.sync().unwrap();
            }
            file.append(b"end").unwrap();
            content.extend_from_slice(b"end");
            // Not durable, but there.
            file.flush().unwrap();
            assert_eq!(file.len(), content.len() as u64);
            let read_back = read(&*storage.open(&name).unwrap(), 0, content.len()).unwrap();
            assert!(read_back == content, "{length} bytes");
        }
    });
}
