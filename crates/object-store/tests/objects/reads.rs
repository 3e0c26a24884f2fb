//! Reads of open objects. Goal: one request opens, every range is what the object had when it was opened, and never a
//! mixture of two objects. Method: stores that lack suffix ranges, ETags or conditions, and objects of all lengths.

use crate::faulty_store::{Fault, FaultyStore, Lacks};
use ogive::io::{Profile, Purpose, RangeRequest, ReadRequest, ReadableFile};
use ogive::{Cause, Error};
use ogive_object_store::{ObjectOptions, opening_bytes};
use ogive_testkit::Random;
use std::io::ErrorKind;
use std::sync::Arc;

pub(crate) fn bytes_of(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..length).map(|_| random.next_u64() as u8).collect()
}

pub(crate) fn read(file: &dyn ReadableFile, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
    let mut buffer = vec![0; length];
    file.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Data })?;
    Ok(buffer)
}

/// A profile by which an opening read has 64 KiB or less.
fn small() -> ObjectOptions {
    ObjectOptions::default().profile(Profile::affine("small", 1_000.0, 0.5, 4).unwrap())
}

#[test]
fn every_range_of_an_object_of_any_length_is_read_right() {
    let mut random = Random::new(7);
    for suffix_ranges in [false, true] {
        for length in [0_usize, 1, 100, 16_384, 16_385, 70_000, 500_000] {
            let store = FaultyStore::lacking(Lacks { suffix_ranges, ..Lacks::default() });
            let content = bytes_of(length, 1);
            store.put("a", &content);
            let file = store.storage(small()).open("a").unwrap();
            assert_eq!(file.len(), length as u64);
            let cut = |random: &mut Random| {
                let start = random.below(length as u64 + 1);
                (start, random.below((length as u64 - start).min(5_000) + 1) as usize)
            };
            for _ in 0..50 {
                let (start, bytes) = cut(&mut random);
                assert_eq!(read(&*file, start, bytes).unwrap(), content[start as usize..][..bytes]);
            }
            for _ in 0..10 {
                let ranges: Vec<_> = (0..random.below(40)).map(|_| cut(&mut random)).collect();
                let requests: Vec<_> = ranges
                    .iter()
                    .map(|&(offset, bytes)| RangeRequest { offset, bytes, purpose: Purpose::Data })
                    .collect();
                let read = file.start_reads(&requests).unwrap().wait().unwrap();
                for (read, (offset, bytes)) in read.iter().zip(&ranges) {
                    assert_eq!(**read, content[*offset as usize..][..*bytes]);
                }
            }
            let past = read(&*file, length as u64, 1);
            assert!(matches!(past, Err(Error { cause: Cause::Io(ErrorKind::UnexpectedEof), .. })));
        }
    }
}

#[test]
fn opening_is_one_request_and_its_bytes_serve_the_reads_at_the_end() {
    let store = FaultyStore::new();
    let options = ObjectOptions::default();
    let tail = opening_bytes(&options.profile) as usize;
    assert_eq!(tail, 72_000);
    let (small, large) = (bytes_of(tail, 2), bytes_of(3 * tail, 3));
    store.put("small", &small);
    store.put("large", &large);
    let storage = store.storage(options);

    let file = storage.open("small").unwrap();
    for at in [0, tail / 2, tail - 10] {
        assert_eq!(read(&*file, at as u64, 10).unwrap(), small[at..at + 10]);
    }
    let counts = store.take_counts();
    assert_eq!((counts.gets, counts.heads), (1, 0), "a small object is one GET in all");

    let file = storage.open("large").unwrap();
    assert_eq!(read(&*file, 2 * tail as u64, tail).unwrap(), large[2 * tail..]);
    assert_eq!(store.take_counts().gets, 1, "the end came with the opening");
    assert_eq!(read(&*file, 5, 10).unwrap(), large[5..15]);
    assert_eq!(store.take_counts().gets, 1);
}

/// The rest of a long end is read by another request, and no byte twice.
#[test]
fn an_end_that_is_longer_than_the_opening_read_is_read_once() {
    let store = FaultyStore::new();
    let content = bytes_of(1_000_000, 4);
    store.put("a", &content);
    let storage = store.storage(ObjectOptions::default());
    for (length, gets) in [(72_000, 1), (72_001, 2), (300_000, 2), (1_000_000, 2)] {
        let file = storage.open("a").unwrap();
        let mut end = vec![0; length];
        let offset = (content.len() - length) as u64;
        file.read(ReadRequest { offset, buffer: &mut end, purpose: Purpose::Open }).unwrap();
        assert!(end == content[offset as usize..]);
        let counts = store.take_counts();
        assert_eq!((counts.gets, counts.heads, counts.bytes), (gets, 0, length as u64), "an end of {length} bytes");
    }
}

#[test]
fn without_suffix_ranges_the_length_is_asked_for_first_and_that_is_remembered() {
    let store = FaultyStore::lacking(Lacks { suffix_ranges: true, ..Lacks::default() });
    store.put("a", &bytes_of(1000, 1));
    let storage = store.storage(ObjectOptions::default());
    storage.open("a").unwrap();
    store.take_counts();
    let file = storage.open("a").unwrap();
    read(&*file, 10, 100).unwrap();
    let counts = store.take_counts();
    assert_eq!((counts.heads, counts.gets), (1, 1));
}

/// An object that is replaced, truncated or removed is an error, whatever the store checks.
#[test]
fn a_changed_object_is_an_error_that_names_it_and_never_a_mixture() {
    let lacks = [
        Lacks::default(),
        Lacks { conditions: true, ..Lacks::default() },
        Lacks { e_tags: true, ..Lacks::default() },
        Lacks { suffix_ranges: true, ..Lacks::default() },
    ];
    for lacks in lacks {
        for change in 0..3 {
            let store = FaultyStore::lacking(lacks);
            store.put("a", &bytes_of(500_000, 1));
            let file = store.storage(small()).open("a").unwrap();
            read(&*file, 0, 1000).unwrap();
            match change {
                0 => store.put("a", &bytes_of(500_000, 2)),
                1 => store.put("a", &bytes_of(100_000, 1)),
                _ => store.remove("a"),
            }
            for offset in [0, 50_000, 400_000] {
                match read(&*file, offset, 1000) {
                    Err(error @ Error { cause: Cause::ObjectChanged, .. }) => {
                        assert!(error.to_string().contains("test://bucket/folder/a"), "{error}");
                    }
                    other => panic!("{lacks:?}, change {change}, {offset}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn reads_that_are_given_up_end_and_leave_their_places_to_others() {
    let store = FaultyStore::new();
    store.put("a", &bytes_of(500_000, 1));
    let file: Arc<dyn ReadableFile> = store.storage(small()).open("a").unwrap();
    store.take_counts();
    for at in 0..40 {
        store.fail_gets(&[Fault::Silence]);
        let range = RangeRequest { offset: at * 100, bytes: 10, purpose: Purpose::Data };
        let pending = file.start_reads(&[range]).unwrap();
        while store.take_counts().gets == 0 {
            std::thread::yield_now();
        }
        drop(pending);
    }
    read(&*file, 0, 100).unwrap();
}
