//! Tests of value files. Goal: a value is read back as it was written, or its damage is reported, whatever the file or
//! the pointer contains. Method: files in memory are compared with a list of the values written; bits are flipped,
//! files truncated, torn and mixed; pointers are hostile.

use super::chunk::{CHUNK_BYTES, ChunkEncoder, ChunkHead, ChunkPart, KEY_BYTES_MAX, STORED_BYTES_MAX};
use super::file::{FOOTER_BYTES, HEADER};
use super::scan::ScanSummary;
use super::*;
use crate::block::compress::{CODEC_LZ4, CODEC_STORED, Compression};
use crate::block::header::{HEADER_BYTES, StoreBinding};
use crate::block::stream::VALUE_BYTES_MAX;
use crate::block::test_examples::example;
use crate::error::{Cause, Error, Result};
use crate::io::{LocalStorage, MemoryStorage, Meter, Storage};
use proptest::prelude::*;
use std::io::Read;
use std::sync::Arc;

const OWNER: StoreBinding = StoreBinding { store: 0x8877_6655_4433_2211, nonce: 0x0102_0304_0506_0708 };

fn storage() -> (MemoryStorage, Arc<dyn Storage>) {
    let memory = MemoryStorage::new();
    (memory.clone(), Arc::new(memory))
}

fn create(storage: &Arc<dyn Storage>, number: u64, compression: Compression) -> ValueFileWriter {
    ValueFileWriter::create(storage, OWNER, number, compression).unwrap()
}

fn plain(storage: &Arc<dyn Storage>) -> ValueFileWriter {
    create(storage, 1, Compression::None)
}

fn open(storage: &Arc<dyn Storage>) -> ValueFile {
    ValueFile::open(&**storage, OWNER, 1).unwrap()
}

fn compressions() -> Vec<Compression> {
    vec![
        Compression::None,
        #[cfg(feature = "lz4")]
        Compression::Lz4,
        #[cfg(feature = "zstd")]
        Compression::Zstd { level: 1 },
    ]
}

/// Compressible or incompressible bytes.
fn value(seed: usize, length: usize) -> Vec<u8> {
    let mut state = seed as u64;
    let noise = seed % 2 == 1;
    let next = |state: &mut u64| {
        *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (*state >> 33) as u8
    };
    (0..length).map(|i| if noise { next(&mut state) } else { (seed + i / 100) as u8 }).collect()
}

const LENGTHS: [usize; 12] = [
    0,
    1,
    7,
    100,
    1024,
    CHUNK_BYTES - 1,
    CHUNK_BYTES,
    CHUNK_BYTES + 1,
    2 * CHUNK_BYTES - 1,
    2 * CHUNK_BYTES,
    2 * CHUNK_BYTES + 1,
    17 * CHUNK_BYTES + 5,
];

fn is_damage<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error { cause: Cause::Damaged, .. }))
}

fn check(file: &ValueFile, pointer: &ValueFilePointer, expected: &[u8]) {
    assert_eq!(pointer.length, expected.len() as u64);
    assert!(file.get(pointer, pointer.length).unwrap() == *expected);
    let mut into = vec![9; 10];
    file.get_into(pointer, u64::MAX, &mut into).unwrap();
    assert!(into == expected);
    let mut streamed = Vec::new();
    file.stream(pointer).unwrap().read_to_end(&mut streamed).unwrap();
    assert!(streamed == expected);
    assert!(file.is_intact(pointer).unwrap());
}

#[test]
fn values_of_every_length_come_back_while_the_file_grows_and_after() {
    for compression in compressions() {
        let (_, storage) = storage();
        let mut writer = create(&storage, 1, compression);
        let mut written = Vec::new();
        for (i, length) in LENGTHS.into_iter().chain(LENGTHS).enumerate() {
            let (key, value) = (vec![i as u8; i], value(i / LENGTHS.len(), length));
            let pointer = if i % 3 == 0 {
                writer.append_stream(&key, &mut &value[..]).unwrap()
            } else {
                writer.append(&key, &value).unwrap()
            };
            writer.flush().unwrap();
            check(&writer.file(), &pointer, &value);
            written.push((key, value, pointer));
        }
        let end = writer.len_bytes();
        let finished = writer.finish().unwrap();
        assert_eq!(finished.len_bytes(), end + ValueFileWriter::FINISH_BYTES);
        for file in [&*finished, &open(&storage)] {
            assert!(file.is_finished().unwrap());
            written.iter().for_each(|(_, value, pointer)| check(file, pointer, value));
            let mut found = Vec::new();
            let scanned = file.scan(&mut |record| {
                let ScannedItem::Record { key, pointer } = record else { panic!("{record:?}") };
                found.push((key.to_vec(), pointer));
                Ok(())
            });
            assert!(
                found.iter().eq(written
                    .iter()
                    .map(|(key, _, pointer)| (key.clone(), *pointer))
                    .collect::<Vec<_>>()
                    .iter())
            );
            let value_bytes = written.iter().map(|(_, value, _)| value.len() as u64).sum();
            let expected = ScanSummary { records: written.len() as u64, value_bytes, is_proved: true, end };
            assert_eq!(scanned.unwrap(), expected);
        }
    }
}

#[test]
fn streams_and_slices_are_stored_alike() {
    for compression in compressions() {
        for length in LENGTHS {
            let (first, second) = (storage(), storage());
            let value = value(0, length);
            let mut writer = create(&first.1, 1, compression);
            writer.append(b"key", &value).unwrap();
            writer.finish().unwrap();
            let mut writer = create(&second.1, 1, compression);
            writer.append_stream(b"key", &mut &value[..]).unwrap();
            writer.finish().unwrap();
            let name = values_name(1);
            assert!(first.0.content(&name).unwrap() == second.0.content(&name).unwrap());
        }
    }
}

#[test]
fn a_value_of_up_to_64_kib_takes_one_read_and_a_longer_one_a_read_for_three_chunks() {
    let meter = Arc::new(Meter::new(Arc::new(MemoryStorage::new()) as Arc<dyn Storage>));
    let storage: Arc<dyn Storage> = Arc::clone(&meter) as _;
    let mut writer = plain(&storage);
    let pointers: Vec<_> = LENGTHS.iter().map(|&length| writer.append(&[7; 100], &value(1, length)).unwrap()).collect();
    writer.finish().unwrap();
    let file = open(&storage);
    for (pointer, length) in pointers.iter().zip(LENGTHS) {
        let before = meter.snapshot();
        file.get(pointer, u64::MAX).unwrap();
        let reads = meter.snapshot().reads.requests - before.reads.requests;
        let most = if length <= CHUNK_BYTES { 1 } else { pointer.stored_bytes.div_ceil(3 * CHUNK_BYTES as u64) };
        assert!((1..=most).contains(&reads), "{reads} reads of {length} bytes");
    }
}

#[test]
fn what_is_not_written_out_yet_is_not_there() {
    let (_, storage) = storage();
    let mut writer = plain(&storage);
    let first = writer.append(b"a", b"first").unwrap();
    assert!(is_damage(&writer.file().get(&first, 100)));
    assert!(!writer.file().is_intact(&first).unwrap());
    writer.flush().unwrap();
    let second = writer.append(b"b", b"second").unwrap();
    check(&writer.file(), &first, b"first");
    assert!(is_damage(&writer.file().get(&second, 100)));
    writer.sync().unwrap();
    check(&writer.file(), &second, b"second");
}

#[test]
fn a_value_above_the_limit_is_refused_before_it_is_read() {
    let meter = Arc::new(Meter::new(Arc::new(MemoryStorage::new()) as Arc<dyn Storage>));
    let storage: Arc<dyn Storage> = Arc::clone(&meter) as _;
    let mut writer = plain(&storage);
    let pointers = [1000, 200_000].map(|length| writer.append(b"", &value(0, length)).unwrap());
    writer.flush().unwrap();
    let before = meter.snapshot().reads.requests;
    for pointer in pointers {
        let limit = pointer.length - 1;
        let refusals = [
            writer.file().get(&pointer, limit).map(drop),
            writer.file().get_into(&pointer, limit, &mut Vec::new()),
            writer.file().stream(&pointer).unwrap().read_to_vec(limit).map(drop),
        ];
        for refused in refusals {
            let cause = refused.unwrap_err().cause;
            assert!(matches!(cause, Cause::ValueTooLarge { length, .. } if length == pointer.length), "{cause:?}");
        }
    }
    assert_eq!(meter.snapshot().reads.requests, before);
}

#[test]
fn keys_and_values_that_are_too_long_leave_the_file_as_it_was() {
    let (_, storage) = storage();
    let mut writer = plain(&storage);
    let before = writer.len_bytes();
    let refused = writer.append(&vec![0; KEY_BYTES_MAX + 1], b"");
    assert!(matches!(refused, Err(Error { cause: Cause::KeyLength { .. }, .. })));
    assert_eq!(writer.len_bytes(), before);
    let pointer = writer.append(&vec![1; KEY_BYTES_MAX], &vec![2; CHUNK_BYTES]).unwrap();
    assert!(pointer.stored_bytes <= STORED_BYTES_MAX as u64);
    writer.flush().unwrap();
    check(&writer.file(), &pointer, &vec![2; CHUNK_BYTES]);
}

/// A source of zeros that counts the bytes read.
struct Zeros(u64);

impl Read for Zeros {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0 += buffer.len() as u64;
        buffer.fill(0);
        Ok(buffer.len())
    }
}

#[test]
#[cfg(feature = "lz4")]
fn a_source_longer_than_the_format_takes_is_refused_and_the_file_goes_on() {
    let (_, storage) = storage();
    let mut writer = create(&storage, 1, Compression::Lz4);
    let mut zeros = Zeros(0);
    let refused = writer.append_stream(b"endless", &mut zeros);
    assert!(matches!(refused, Err(Error { cause: Cause::ValueTooLarge { limit: VALUE_BYTES_MAX, .. }, .. })));
    assert!(zeros.0 <= VALUE_BYTES_MAX + (1 << 20));
    let given_up = writer.len_bytes();
    let longest = writer.append_stream(b"longest", &mut Zeros(0).take(VALUE_BYTES_MAX)).unwrap();
    assert_eq!(longest.length, VALUE_BYTES_MAX);
    let file = writer.finish().unwrap();
    assert!(file.is_intact(&longest).unwrap());
    let mut found = Vec::new();
    let scanned = file.scan(&mut |part| {
        found.push(match part {
            ScannedItem::Record { pointer, .. } => (pointer.offset, true),
            ScannedItem::Part { offset, .. } => (offset, false),
            ScannedItem::Unknown { .. } => panic!("{part:?}"),
        });
        Ok(())
    });
    assert_eq!(found, [(HEADER_BYTES as u64, false), (given_up, true)]);
    assert!(scanned.unwrap().is_proved);
}

#[test]
fn a_source_that_fails_leaves_a_file_that_takes_other_values() {
    struct FailingSource(usize);
    impl Read for FailingSource {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            if self.0 > 200 { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(buffer.len().min(1000)) }
        }
    }
    let (_, storage) = storage();
    let mut writer = plain(&storage);
    assert!(matches!(writer.append_stream(b"broken", &mut FailingSource(0)), Err(Error { cause: Cause::Io(_), .. })));
    let pointer = writer.append(b"key", b"value").unwrap();
    let file = writer.finish().unwrap();
    check(&file, &pointer, b"value");
    assert!(file.scan(&mut |_| Ok(())).unwrap().is_proved);
}

/// A finished file of a few values: its bytes, and the values with their pointers.
fn sample(compression: Compression) -> (Vec<u8>, Vec<(ValueFilePointer, Vec<u8>)>) {
    let (memory, storage) = storage();
    let mut writer = create(&storage, 1, compression);
    let values: Vec<_> = [3, 90, 0, 300]
        .into_iter()
        .enumerate()
        .map(|(i, length)| (writer.append(b"key", &value(i, length)).unwrap(), value(i, length)))
        .collect();
    writer.finish().unwrap();
    (memory.content(&values_name(1)).unwrap(), values)
}

#[test]
fn every_flipped_bit_is_told_by_the_value_and_by_the_walk() {
    for compression in compressions() {
        let (content, values) = sample(compression);
        for bit in 0..content.len() * 8 {
            let (memory, storage) = storage();
            let mut damaged = content.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            memory.put(&values_name(1), damaged).unwrap();
            let file = match ValueFile::open(&*storage, OWNER, 1) {
                Ok(file) if bit / 8 >= HEADER_BYTES => file,
                outcome => {
                    assert!(bit / 8 < HEADER_BYTES && is_damage(&outcome), "bit {bit} of the header");
                    continue;
                }
            };
            for (pointer, value) in &values {
                let hit = (pointer.offset..pointer.end().unwrap()).contains(&(bit as u64 / 8));
                assert_eq!(file.is_intact(pointer).unwrap(), !hit);
                if hit {
                    assert!(is_damage(&file.get(pointer, 1000)), "bit {bit}");
                    assert!(is_damage(&file.get_into(pointer, 1000, &mut Vec::new())), "bit {bit}");
                } else {
                    assert!(file.get(pointer, 1000).unwrap() == value[..]);
                }
            }
            let mut whole = Vec::new();
            let scanned = file.scan(&mut |found| {
                if let ScannedItem::Record { pointer, .. } = found {
                    whole.push(pointer);
                }
                Ok(())
            });
            assert!(!scanned.unwrap().is_proved, "bit {bit}");
            let expected: Vec<_> =
                values.iter().map(|(pointer, _)| *pointer).filter(|pointer| file.is_intact(pointer).unwrap()).collect();
            assert_eq!(whole, expected, "bit {bit}: what is whole is salvaged");
        }
    }
}

#[test]
fn every_truncation_and_every_other_end_is_told() {
    let (content, values) = sample(Compression::None);
    let (memory, storage) = storage();
    for length in 0..content.len() {
        memory.put(&values_name(1), content[..length].to_vec()).unwrap();
        if length < HEADER_BYTES {
            assert!(is_damage(&ValueFile::open(&*storage, OWNER, 1)));
            continue;
        }
        let file = open(&storage);
        assert!(!file.is_finished().unwrap());
        assert!(!file.scan(&mut |_| Ok(())).unwrap().is_proved);
        for (pointer, value) in &values {
            if pointer.end().unwrap() <= length as u64 {
                check(&file, pointer, value);
            } else {
                assert!(is_damage(&file.get(pointer, 1000)));
                assert!(!file.is_intact(pointer).unwrap());
            }
        }
    }
    let longer = [&content[..], &[0]].concat();
    memory.put(&values_name(1), longer).unwrap();
    assert!(!open(&storage).is_finished().unwrap());
    let shifted =
        [&content[..content.len() - FOOTER_BYTES], &[0; 8], &content[content.len() - FOOTER_BYTES..]].concat();
    memory.put(&values_name(1), shifted).unwrap();
    assert!(!open(&storage).is_finished().unwrap(), "a footer in another pointer");
}

#[test]
fn a_file_in_the_place_of_another_is_refused() {
    let (content, _) = sample(Compression::None);
    let (memory, storage) = storage();
    memory.put(&values_name(2), content.clone()).unwrap();
    assert!(is_damage(&ValueFile::open(&*storage, OWNER, 2)));
    memory.put(&values_name(1), content).unwrap();
    for strange in [
        StoreBinding { store: OWNER.store ^ 1, ..OWNER },
        StoreBinding { nonce: 5, ..OWNER },
        StoreBinding { nonce: 0, ..OWNER },
    ] {
        assert!(is_damage(&ValueFile::open(&*storage, strange, 1)), "{strange:?}");
    }
    assert_eq!(ValueFile::open_of_store(&*storage, OWNER.store, 1).unwrap().binding(), OWNER);
    assert!(is_damage(&ValueFile::open_of_store(&*storage, OWNER.store ^ 1, 1)));
    assert!(matches!(ValueFile::open(&*storage, OWNER, 3), Err(Error { cause: Cause::Io(_), .. })));
}

#[test]
fn chunks_swapped_repeated_or_dropped_are_damage() {
    let (memory, storage) = storage();
    let mut writer = plain(&storage);
    let value = vec![5; 4 * CHUNK_BYTES];
    let pointer = writer.append(b"", &value).unwrap();
    writer.finish().unwrap();
    let content = memory.content(&values_name(1)).unwrap();
    let first = pointer.offset as usize + CHUNK_BYTES + 9;
    let middle = CHUNK_BYTES + 8;
    assert!(ChunkHead::checked(OWNER.identity(1), first as u64, &content[first..]).is_some());
    let (left, right) = (first..first + middle, first + middle..first + 2 * middle);
    let mut swapped = content.clone();
    swapped[left.clone()].copy_from_slice(&content[right.clone()]);
    swapped[right.clone()].copy_from_slice(&content[left.clone()]);
    let mut dropped = content.clone();
    dropped.drain(left.clone());
    for damaged in [swapped, dropped] {
        memory.put(&values_name(1), damaged).unwrap();
        let outcome = open(&storage).get(&pointer, u64::MAX);
        assert!(is_damage(&outcome));
        let mut stream = open(&storage).stream(&pointer);
        if let Ok(stream) = &mut stream {
            assert!(stream.next_chunk().unwrap().is_some());
            assert!(is_damage(&stream.next_chunk().map(drop)));
            assert!(is_damage(&stream.next_chunk().map(drop)), "it stays damaged");
            assert!(stream.read(&mut [0; 10]).is_err());
        }
    }
}

/// Pointers at which no value of a sample may be found.
fn hostile(good: &ValueFilePointer, file_bytes: u64) -> Vec<ValueFilePointer> {
    let pointer = |file, offset, stored_bytes, length| ValueFilePointer { file, offset, stored_bytes, length };
    let mut pointers = vec![
        pointer(2, good.offset, good.stored_bytes, good.length),
        pointer(0, 0, 0, 0),
        pointer(1, 0, 7, 0),
        pointer(1, 0, file_bytes, file_bytes),
        pointer(1, file_bytes, 0, 0),
        pointer(1, file_bytes + 1, 1, 1),
        pointer(1, good.offset, u64::MAX, good.length),
        pointer(1, good.offset, u64::MAX, u64::MAX),
        pointer(1, u64::MAX, u64::MAX, u64::MAX),
        pointer(1, u64::MAX, 1, 1),
        pointer(1, good.offset, good.stored_bytes, VALUE_BYTES_MAX),
        pointer(1, good.offset, good.stored_bytes, VALUE_BYTES_MAX + 1),
        pointer(1, good.offset, good.stored_bytes, 1 << 32),
    ];
    for by in [1_u64, 2, 100, 1 << 16, 1 << 31, 1 << 32, 1 << 33] {
        pointers.push(ValueFilePointer { offset: good.offset.wrapping_add(by), ..*good });
        pointers.push(ValueFilePointer { offset: good.offset.wrapping_sub(by), ..*good });
        pointers.push(ValueFilePointer { stored_bytes: good.stored_bytes.wrapping_add(by), ..*good });
        pointers.push(ValueFilePointer { stored_bytes: good.stored_bytes.wrapping_sub(by), ..*good });
        pointers.push(ValueFilePointer { length: good.length.wrapping_add(by), ..*good });
        pointers.push(ValueFilePointer { length: good.length.wrapping_sub(by), ..*good });
    }
    pointers
}

#[test]
fn hostile_places_are_damage_and_allocate_nothing_on_their_word() {
    for compression in compressions() {
        let (memory, storage) = storage();
        let (content, values) = sample(compression);
        memory.put(&values_name(1), content.clone()).unwrap();
        let file = open(&storage);
        for (good, _) in &values {
            for pointer in hostile(good, content.len() as u64) {
                assert!(!file.is_intact(&pointer).unwrap(), "{pointer:?}");
                for outcome in [
                    file.get(&pointer, u64::MAX).map(drop),
                    file.get_into(&pointer, u64::MAX, &mut Vec::new()),
                    file.stream(&pointer).and_then(|stream| stream.read_to_vec(u64::MAX)).map(drop),
                ] {
                    assert!(is_damage(&outcome), "{pointer:?} {outcome:?}");
                }
            }
        }
    }
}

/// A file of these chunks, which no writer produces.
fn forge(chunks: &[(ChunkPart, u8, usize, &[u8])]) -> (Arc<dyn Storage>, ValueFilePointer) {
    let (memory, storage) = storage();
    let mut content = HEADER.encode(OWNER, 1, [0, 0]).to_vec();
    let mut length = 0;
    for &(part, codec, raw, stored) in chunks {
        let frame = ChunkEncoder { identity: OWNER.identity(1), offset: content.len() as u64, part, key: &[] };
        frame.encode(&mut content, codec, raw, stored);
        length += raw as u64;
    }
    let stored_bytes = (content.len() - HEADER_BYTES) as u64;
    memory.put(&values_name(1), content).unwrap();
    (storage, ValueFilePointer { file: 1, offset: HEADER_BYTES as u64, stored_bytes, length })
}

#[test]
fn chunks_that_no_writer_makes_are_damage_though_their_checksums_hold() {
    let full = vec![3; CHUNK_BYTES];
    let whole = (ChunkPart::Whole, CODEC_STORED, 5, &b"value"[..]);
    let first = (ChunkPart::First, CODEC_STORED, CHUNK_BYTES, &full[..]);
    let middle = (ChunkPart::Middle, CODEC_STORED, CHUNK_BYTES, &full[..]);
    let last = (ChunkPart::Last, CODEC_STORED, 5, &b"value"[..]);
    let good: [&[_]; 3] = [&[whole], &[first, last], &[first, middle, last]];
    for chunks in good {
        let (storage, pointer) = forge(chunks);
        assert!(open(&storage).is_intact(&pointer).unwrap());
    }
    let packed = |codec, stored: &'static [u8]| (ChunkPart::Whole, codec, 100, stored);
    let bad: [&[_]; 12] = [
        &[last],
        &[middle, last],
        &[first],
        &[first, middle],
        &[first, whole],
        &[whole, whole],
        &[first, last, last],
        &[last, first],
        &[packed(CODEC_LZ4, b"no such thing")],
        &[packed(7, b"an unknown codec")],
        &[packed(15, b"")],
        &[first, (ChunkPart::Last, CODEC_LZ4, 9, b"")],
    ];
    for (i, chunks) in bad.into_iter().enumerate() {
        let (storage, pointer) = forge(chunks);
        let file = open(&storage);
        assert!(is_damage(&file.get(&pointer, u64::MAX)), "case {i}");
        assert!(is_damage(&file.get_into(&pointer, u64::MAX, &mut Vec::new())), "case {i}");
        assert!(!file.is_intact(&pointer).unwrap(), "case {i}");
        file.scan(&mut |_| Ok(())).unwrap();
    }
}

#[test]
fn a_growing_file_that_was_torn_has_each_value_whole_or_not_at_all() {
    let (memory, storage) = storage();
    let mut writer = plain(&storage);
    let values: Vec<_> = (0..8).map(|i| value(i, 300 * i)).collect();
    let pointers: Vec<_> = values.iter().map(|value| writer.append(b"key", value).unwrap()).collect();
    writer.flush().unwrap();
    let content = memory.content(&values_name(1)).unwrap();
    for seed in 0..2000_u64 {
        let keep = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut image = if seed % 2 == 0 { vec![0; content.len()] } else { value(1, content.len()) };
        for (sector, at) in (0..content.len()).step_by(512).enumerate() {
            if keep >> (sector % 64) & 1 == 1 {
                let end = (at + 512).min(content.len());
                image[at..end].copy_from_slice(&content[at..end]);
            }
        }
        memory.put(&values_name(1), image.clone()).unwrap();
        let file = open(&storage);
        for (pointer, value) in pointers.iter().zip(&values) {
            let range = pointer.offset as usize..pointer.end().unwrap() as usize;
            let is_there = image[range.clone()] == content[range];
            assert_eq!(file.is_intact(pointer).unwrap(), is_there);
            assert_eq!(file.get(pointer, 10_000).is_ok_and(|found| found == value[..]), is_there);
        }
    }
}

#[test]
fn a_file_that_was_not_finished_is_gone_on_with() {
    for compression in compressions() {
        let (memory, storage) = storage();
        let mut writer = create(&storage, 1, compression);
        let first = writer.append(b"first", &value(0, 100_000)).unwrap();
        let second = writer.append(b"second", &value(1, 70)).unwrap();
        writer.sync().unwrap();
        let content = memory.content(&values_name(1)).unwrap();
        memory.put(&values_name(1), [&content[..], b"what a crash left"].concat()).unwrap();
        for end in [first.end().unwrap() - 1, first.offset + 3, second.end().unwrap() + 3, u64::MAX, 0] {
            let refused = ValueFileWriter::resume(&storage, OWNER, 1, end, compression);
            assert!(is_damage(&refused), "{end}");
        }
        let mut writer = ValueFileWriter::resume(&storage, OWNER, 1, second.end().unwrap(), compression).unwrap();
        let third = writer.append(b"third", b"3").unwrap();
        assert_eq!(third.offset, second.end().unwrap());
        let file = writer.finish().unwrap();
        check(&file, &first, &value(0, 100_000));
        check(&file, &second, &value(1, 70));
        check(&file, &third, b"3");
        let scanned = file.scan(&mut |_| Ok(())).unwrap();
        assert_eq!((scanned.records, scanned.is_proved), (3, true));
        let writer = ValueFileWriter::resume(&storage, OWNER, 1, second.end().unwrap(), compression).unwrap();
        assert_eq!(writer.finish().unwrap().scan(&mut |_| Ok(())).unwrap().records, 2);
    }
}

#[test]
fn a_salvaging_walk_finds_what_is_whole_between_damage() {
    let (memory, storage) = storage();
    let mut writer = plain(&storage);
    let pointers: Vec<_> = (0..6).map(|i| writer.append(&[i], &value(i.into(), 100_000)).unwrap()).collect();
    writer.finish().unwrap();
    let mut content = memory.content(&values_name(1)).unwrap();
    // The head of one, and the second chunk of another.
    content[pointers[1].offset as usize] ^= 0x40;
    content[pointers[4].offset as usize + CHUNK_BYTES + 500] ^= 1;
    memory.put(&values_name(1), content).unwrap();
    let (mut keys, mut others) = (Vec::new(), 0);
    let scanned = open(&storage).scan(&mut |found| {
        match found {
            ScannedItem::Record { key, pointer } => keys.push((key[0], pointer)),
            ScannedItem::Part { bytes, .. } | ScannedItem::Unknown { bytes, .. } => others += bytes,
        }
        Ok(())
    });
    assert!(!scanned.unwrap().is_proved);
    assert_eq!(keys, [0, 2, 3, 5].map(|i| (i, pointers[usize::from(i)])));
    assert_eq!(others, pointers[1].stored_bytes + pointers[4].stored_bytes);
}

#[test]
fn files_past_the_page_cache_hold_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::direct(folder.path()));
    let (memory, other) = self::storage();
    let (mut writer, mut copy) = (plain(&storage), plain(&other));
    let mut written = Vec::new();
    for (i, length) in [10, 5000, 4096, 1, 100_000, 3].into_iter().enumerate() {
        let value = value(i, length);
        let pointer = writer.append(b"key", &value).unwrap();
        assert_eq!(copy.append(b"key", &value).unwrap(), pointer);
        writer.sync().unwrap();
        check(&writer.file(), &pointer, &value);
        written.push((pointer, value));
    }
    let end = written[4].0.end().unwrap();
    drop(writer);
    let mut writer = ValueFileWriter::resume(&storage, OWNER, 1, end, Compression::None).unwrap();
    let (pointer, value) = written.pop().unwrap();
    assert_eq!(writer.append(b"key", &value).unwrap(), pointer);
    let finished = writer.finish().unwrap();
    copy.finish().unwrap();
    check(&finished, &pointer, &value);
    let file = open(&storage);
    assert!(file.scan(&mut |_| Ok(())).unwrap().is_proved);
    assert_eq!(file.len_bytes(), memory.content(&values_name(1)).unwrap().len() as u64);
    for (pointer, value) in written {
        check(&file, &pointer, &value);
    }
}

#[test]
fn small_values_take_eight_bytes_beside_key_and_value() {
    let (_, storage) = storage();
    let mut writer = plain(&storage);
    let pointer = writer.append(&[1; 16], &[2; 64]).unwrap();
    assert_eq!(pointer.stored_bytes, 16 + 64 + 7);
    let pointer = writer.append(&[1; 16], &[2; 1024]).unwrap();
    assert_eq!(pointer.stored_bytes, 16 + 1024 + 8);
}

const DOCUMENT: &str = include_str!("../../../../docs/format/value-log.md");
const DOCUMENT_OWNER: StoreBinding = StoreBinding { store: 0x0123_4567_89ab_cdef, nonce: 0x1111_2222_3333_4444 };

#[test]
fn the_example_of_the_document_is_what_is_written_and_what_is_read() {
    let (memory, storage) = storage();
    let mut writer = ValueFileWriter::create(&storage, DOCUMENT_OWNER, 9, Compression::None).unwrap();
    let pointers = [writer.append(b"cat", b"meow").unwrap(), writer.append(b"dog", b"").unwrap()];
    writer.finish().unwrap();
    let written = memory.content(&values_name(9)).unwrap();
    assert_eq!(written, example(DOCUMENT, "file"));
    let encoded = pointers.map(|pointer| {
        let mut bytes = Vec::new();
        pointer.encode(&mut bytes);
        bytes
    });
    assert_eq!(encoded, [vec![0x09, 0x40, 0x0e, 0x04], vec![0x09, 0x4e, 0x0a, 0x00]]);
    memory.put(&values_name(9), example(DOCUMENT, "file")).unwrap();
    let file = ValueFile::open(&*storage, DOCUMENT_OWNER, 9).unwrap();
    assert!(file.scan(&mut |_| Ok(())).unwrap().is_proved);
    check(&file, &pointers[0], b"meow");
    check(&file, &pointers[1], b"");
}

#[test]
#[cfg(feature = "lz4")]
fn the_packed_example_of_the_document_is_unpacked_as_it_says() {
    let chunk = example(DOCUMENT, "packed");
    let head = ChunkHead::checked(DOCUMENT_OWNER.identity(9), 64, &chunk).unwrap();
    assert_eq!((head.part, head.codec, head.chunk_bytes()), (ChunkPart::Whole, CODEC_LZ4, chunk.len()));
    assert_eq!(chunk[head.key.clone()], *b"dog");
    let mut value = Vec::new();
    head.unpack(&chunk, &mut value).unwrap();
    assert_eq!(value, [b'x'; 64]);
}

proptest! {
    #[test]
    fn places_come_back(file: u64, offset: u64, stored_bytes: u64, length: u64, bytes: Vec<u8>) {
        let pointer = ValueFilePointer { file, offset, stored_bytes, length };
        let mut encoded = Vec::new();
        pointer.encode(&mut encoded);
        prop_assert!(encoded.len() <= 40);
        prop_assert_eq!(ValueFilePointer::decode(&encoded), Some(pointer));
        for cut in 0..encoded.len() {
            prop_assert_eq!(ValueFilePointer::decode(&encoded[..cut]), None);
        }
        encoded.push(0);
        prop_assert_eq!(ValueFilePointer::decode(&encoded), None);
        let _ = ValueFilePointer::decode(&bytes);
    }

    #[test]
    fn values_written_and_read_in_any_order_are_those_of_the_model(
        steps in proptest::collection::vec((0_usize..6, 0_usize..200_000, any::<prop::sample::Index>()), 1..30),
        packed: bool,
    ) {
        let (_, storage) = storage();
        let compression = *compressions().get(usize::from(packed)).unwrap_or(&Compression::None);
        let mut writer = create(&storage, 1, compression);
        let (mut model, mut flushed) = (Vec::new(), 0);
        for (step, length, index) in steps {
            match step {
                0 => {
                    writer.flush().unwrap();
                    flushed = model.len();
                }
                1 if flushed > 0 => {
                    let (pointer, seed, length): &(ValueFilePointer, usize, usize) = &model[index.index(flushed)];
                    check(&writer.file(), pointer, &value(*seed, *length));
                }
                2 => model.push((writer.append_stream(b"k", &mut &value(length, length)[..]).unwrap(), length, length)),
                _ => {
                    let length = if step == 3 { length } else { length / 100 };
                    model.push((writer.append(b"key", &value(length, length)).unwrap(), length, length));
                }
            }
        }
        let file = writer.finish().unwrap();
        for (pointer, seed, length) in model {
            check(&file, &pointer, &value(seed, length));
        }
    }

    #[test]
    fn any_bytes_are_walked_without_a_panic(content in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let (memory, storage) = storage();
        let mut file = HEADER.encode(OWNER, 1, [0, 0]).to_vec();
        file.extend_from_slice(&content);
        memory.put(&values_name(1), file).unwrap();
        let mut seen = HEADER_BYTES as u64;
        let scanned = open(&storage).scan(&mut |found| {
            let (offset, bytes) = match found {
                ScannedItem::Record { pointer, .. } => (pointer.offset, pointer.stored_bytes),
                ScannedItem::Part { offset, bytes } | ScannedItem::Unknown { offset, bytes } => (offset, bytes),
            };
            assert_eq!(offset, seen);
            seen += bytes;
            Ok(())
        });
        prop_assert!(!scanned.unwrap().is_proved);
        prop_assert_eq!(seen, (HEADER_BYTES + content.len()) as u64);
    }
}
