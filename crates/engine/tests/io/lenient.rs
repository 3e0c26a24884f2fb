//! Tests of reading around bad sectors. Goal: what can be read is read as it is, what cannot is zeros and is listed,
//! and a device that fails as a whole is an error after few reads. Method: files with bad parts, read by every call
//! there is.

use ogive::io::{LenientStorage, MemoryStorage, Purpose, RangeRequest, ReadRequest, Storage};
use ogive::{Cause, Error};
use ogive_testkit::{BadSectors, Random};
use std::io::ErrorKind;
use std::sync::Arc;

/// A file on a device with bad parts, and how many reads of it fail.
fn device(content: &[u8], bad: &[std::ops::Range<u64>]) -> (BadSectors, Arc<dyn Storage>) {
    let memory = MemoryStorage::new();
    memory.put("f", content.to_vec()).unwrap();
    let device = bad.iter().fold(BadSectors::new(Arc::new(memory)), |device, bad| device.with("f", bad.clone()));
    let storage: Arc<dyn Storage> = Arc::new(device.clone());
    (device, LenientStorage::around(&storage))
}

#[test]
fn what_cannot_be_read_is_zeros_and_listed_and_all_else_is_as_it_is() {
    let content: Vec<u8> = (0..200_003_u32).map(|at| (at % 251) as u8 + 1).collect();
    let bad = [10_000..10_001, 50_000..60_000, 200_000..200_001];
    let lost = [8192..12_288_u64, 49_152..61_440, 196_608..200_003];
    let expected: Vec<u8> = (0..content.len())
        .map(|at| if lost.iter().any(|lost| lost.contains(&(at as u64))) { 0 } else { content[at] })
        .collect();
    let (device, storage) = device(&content, &bad);
    let file = storage.open("f").unwrap();
    let mut random = Random::new(5);
    let purpose = Purpose::Walk;
    // The whole file first, so that every sector is known.
    let ranges = std::iter::once((0, content.len())).chain((0..300).map(|_| {
        let start = random.below(content.len() as u64);
        (start, random.below(content.len() as u64 - start + 1) as usize)
    }));
    let mut failed_reads = 0;
    for (offset, length) in ranges.collect::<Vec<_>>() {
        let expected = &expected[offset as usize..offset as usize + length];
        let mut read = vec![1; length];
        file.read(ReadRequest { offset, buffer: &mut read, purpose }).unwrap();
        assert!(read == expected, "{length} bytes from {offset}");
        let half = length / 2;
        let (mut first, mut second) = (vec![1; half], vec![1; length - half]);
        let requests = vec![
            ReadRequest { offset, buffer: &mut first, purpose },
            ReadRequest { offset: offset + half as u64, buffer: &mut second, purpose },
        ];
        file.read_many(requests).unwrap();
        assert!([first, second].concat() == expected, "{length} bytes from {offset}");
        let started = file.start_reads(&[RangeRequest { offset, bytes: length, purpose }]).unwrap();
        assert!(started.wait().unwrap()[0][..] == *expected, "{length} bytes from {offset}");
        if failed_reads == 0 {
            failed_reads = device.failed_reads();
        }
    }
    for (offset, length) in [(200_000, 4), (200_003, 1), (300_000, 1)] {
        let beyond = file.read(ReadRequest { offset, buffer: &mut vec![0; length], purpose });
        assert!(matches!(beyond, Err(Error { cause: Cause::Io(ErrorKind::UnexpectedEof), .. })));
    }
    let found: Vec<_> = storage.unreadable().iter().map(|part| part.offset..part.offset + part.bytes).collect();
    assert_eq!(found, lost);
    assert!(storage.unreadable()[0].to_error().to_string().contains("4096 bytes cannot be read"));
    // A sector is tried once, but for reads that were started before it was known.
    assert!(failed_reads < 60, "{failed_reads} reads failed");
}

#[test]
fn a_device_that_fails_as_a_whole_is_an_error_after_few_reads() {
    let content = vec![1; 32 << 20];
    let (device, storage) = device(&content, &[0..1 << 20, 1 << 20..u64::MAX]);
    let file = storage.open("f").unwrap();
    let mut buffer = vec![0; content.len()];
    let error = file.read(ReadRequest { offset: 0, buffer: &mut buffer, purpose: Purpose::Walk }).unwrap_err();
    assert!(matches!(error, Error { cause: Cause::Io(_), .. }), "{error}");
    assert!(device.failed_reads() < 5000, "{} reads failed", device.failed_reads());
    assert_eq!(storage.unreadable().len(), 1);
    assert!(storage.unreadable()[0].bytes < 16 << 20);
}
