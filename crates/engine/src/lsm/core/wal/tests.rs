//! Tests of the write-ahead log. Goal: after any crash and any damage, a log returns a prefix of the appended groups,
//! and no durable group is missing unnoticed. Method: logs in memory whose bytes are torn, flipped, truncated, and
//! mixed with those of the log that used the file before.

use super::*;
use crate::block::header::HEADER_BYTES;
use crate::block::test_examples::example;
use crate::io::{MemoryStorage, Purpose, ReadRequest};
use crate::log::RecordLocation;
use crate::lsm::state::entry::{Action, ValueKind, encode_operation};
use proptest::prelude::*;

const OWNER: StoreBinding = StoreBinding { store: 0x1122_3344_5566_7788, nonce: 0x0102_0304_0506_0708 };

/// Another opening of the store.
const OTHER: StoreBinding = StoreBinding { nonce: 9, ..OWNER };

fn storage() -> (MemoryStorage, Arc<dyn Storage>) {
    let memory = MemoryStorage::new();
    (memory.clone(), Arc::new(memory))
}

fn group(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + seed * 17 + i / 256) as u8).collect()
}

type Found = Vec<(Vec<u8>, bool)>;

fn read(storage: &dyn Storage, number: u64, closed_at: Option<u64>) -> Result<(Found, u64)> {
    let mut found = Vec::new();
    let end = replay(storage, OWNER, number, 0, closed_at, &mut |group, synced| {
        found.push((group.to_vec(), synced));
        Ok(true)
    })?;
    Ok((found, end))
}

fn is_damage<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error { cause: Cause::Damaged, .. }))
}

/// A log of groups of these lengths, each synced if its flag is set; returns the end of each.
fn write(
    storage: &Arc<dyn Storage>,
    number: u64,
    recycled: Option<u64>,
    groups: &[(usize, bool)],
) -> (WalWriter, Vec<u64>) {
    let mut wal = WalWriter::create((storage, None), OWNER, number, recycled, None).unwrap();
    let mut ends = Vec::new();
    for (i, &(length, sync)) in groups.iter().enumerate() {
        wal.append(&group(i, length), i as u64 + 1).unwrap();
        ends.push(wal.len_bytes());
        if sync {
            wal.sync().unwrap();
        }
    }
    (wal, ends)
}

#[test]
fn groups_of_every_length_come_back_whole() {
    let (_, storage) = storage();
    let part = BODY_BYTES_MAX;
    let lengths = [0, 1, 8, part - 1, part, part + 1, 3 * part, 10 * part + 5, 100];
    let groups: Vec<_> = lengths.into_iter().map(|length| (length, false)).collect();
    let (wal, ends) = write(&storage, 7, None, &groups);
    let expected: Found = lengths.into_iter().enumerate().map(|(i, length)| (group(i, length), false)).collect();
    let (found, end) = read(&*storage, 7, None).unwrap();
    assert!(found == expected);
    assert_eq!(end, ends[8]);
    let closed = wal.finish().unwrap();
    assert_eq!(closed, ClosedLog { number: 7, bytes: end });
    let (found, _) = read(&*storage, 7, Some(closed.bytes)).unwrap();
    assert!(found.iter().all(|(_, synced)| *synced), "a closed log is durable as a whole");
}

#[test]
fn a_group_takes_one_write_and_a_sync_one_of_the_file() {
    let meter = Arc::new(crate::io::Meter::new(Arc::new(MemoryStorage::new()) as Arc<dyn Storage>));
    let storage: Arc<dyn Storage> = Arc::clone(&meter) as _;
    let mut wal = WalWriter::create((&storage, None), OWNER, 1, None, None).unwrap();
    let before = meter.snapshot();
    for i in 0..10 {
        wal.append(&group(i, 100_000 * i), i as u64 + 1).unwrap();
    }
    let after = meter.snapshot();
    assert_eq!(after.writes.requests - before.writes.requests, 10);
}

#[test]
fn a_group_is_known_to_be_durable_once_a_later_one_says_so() {
    let (_, storage) = storage();
    write(&storage, 1, None, &[(10, true), (20, false), (30, true), (40, false), (50, false)]);
    let (found, _) = read(&*storage, 1, None).unwrap();
    let synced: Vec<bool> = found.iter().map(|(_, synced)| *synced).collect();
    assert_eq!(synced, [true, true, true, false, false]);
}

#[test]
fn a_refused_group_ends_the_replay_before_it() {
    let (_, storage) = storage();
    let (_, ends) = write(&storage, 1, None, &[(10, false), (20, false), (30, false)]);
    let mut seen = 0;
    let end = replay(&*storage, OWNER, 1, 0, None, &mut |_, _| {
        seen += 1;
        Ok(seen < 2)
    });
    assert_eq!((end.unwrap(), seen), (ends[0], 2));
}

#[test]
fn a_group_that_is_too_long_leaves_the_log_as_it_was() {
    let (_, storage) = storage();
    let (mut wal, _) = write(&storage, 1, None, &[(10, false)]);
    let refused = wal.append(&vec![0; GROUP_BYTES_MAX + 1], 2);
    assert!(matches!(refused, Err(Error { cause: Cause::Input, .. })));
    wal.append(b"short", 2).unwrap();
    assert_eq!(read(&*storage, 1, None).unwrap().0.len(), 2);
}

#[test]
fn a_log_without_its_header_is_lost_and_not_empty() {
    let (memory, storage) = storage();
    let closed = [None, Some(HEADER_BYTES as u64)];
    let is_lost = || closed.into_iter().all(|closed_at| is_damage(&read(&*storage, 3, closed_at)));
    assert!(is_lost(), "missing");
    for content in [vec![], vec![0; 20], vec![0; 5000], vec![7; 5000]] {
        memory.put("000003.log", content).unwrap();
        assert!(is_lost());
    }
    let closed = WalWriter::create((&storage, None), OWNER, 4, None, None).unwrap().finish().unwrap();
    assert_eq!(read(&*storage, 4, Some(closed.bytes)).unwrap(), (vec![], closed.bytes));
}

#[test]
fn a_header_is_durable_before_the_log_can_be_named_and_costs_no_sync_of_the_first_group() {
    let meter = Arc::new(crate::io::Meter::new(Arc::new(MemoryStorage::new()) as Arc<dyn Storage>));
    let storage: Arc<dyn Storage> = Arc::clone(&meter) as _;
    let before = meter.snapshot();
    let mut wal = WalWriter::create((&storage, None), OWNER, 1, None, None).unwrap();
    let made = meter.snapshot();
    assert_eq!(header(&*storage, 1).unwrap().map(|header| (header.binding, header.number)), Some((OWNER, 1)));
    wal.append(b"x", 1).unwrap();
    wal.sync().unwrap();
    let written = meter.snapshot();
    let syncs = |one: &crate::io::MeterSnapshot| (one.writes.file_syncs, one.writes.directory_syncs);
    assert_eq!((syncs(&before), syncs(&made), syncs(&written)), ((0, 0), (1, 1), (2, 1)));
}

#[test]
fn whether_a_log_has_groups_is_told_without_reading_it_whole() {
    let (memory, storage) = storage();
    let (mut wal, _) = write(&storage, 1, None, &[]);
    assert!(!has_groups(&*storage, OWNER, 1).unwrap());
    for i in 0..3 {
        wal.append(&group(i, 50), i as u64 + 1).unwrap();
        wal.sync().unwrap();
    }
    assert!(has_groups(&*storage, OWNER, 1).unwrap());
    assert!(!has_groups(&*storage, OTHER, 1).unwrap() && !has_groups(&*storage, OWNER, 2).unwrap());
    let mut content = memory.content("000001.log").unwrap();
    content[HEADER_BYTES + 9] ^= 1;
    memory.put("000001.log", content).unwrap();
    assert!(has_groups(&*storage, OWNER, 1).unwrap(), "the first one is damaged, and later ones say so");
}

#[test]
fn the_next_log_tells_where_the_one_before_ended() {
    let (memory, storage) = storage();
    let (wal, _) = write(&storage, 1, None, &[(10, true), (20, false)]);
    let closed = wal.finish().unwrap();
    WalWriter::create((&storage, None), OWNER, u64::MAX, None, Some(closed)).unwrap();
    let previous_of = |number| header(&*storage, number).unwrap().as_ref().and_then(previous);
    assert_eq!(previous_of(u64::MAX), Some(closed));
    assert_eq!((previous_of(1), previous_of(2)), (None, None));
    let bytes = memory.content("000001.log").unwrap();
    memory.put("000001.log", bytes[..bytes.len() - 1].to_vec()).unwrap();
    assert_eq!(read(&*storage, 1, None).unwrap().0.len(), 1, "alone it looks torn");
    assert!(is_damage(&read(&*storage, 1, Some(closed.bytes))));
}

#[test]
fn every_flipped_bit_is_told_or_belongs_to_what_a_crash_could_have_torn() {
    let (memory, storage) = storage();
    let groups = [(10, true), (300, false), (40, true), (25, false), (7, false)];
    let (wal, ends) = write(&storage, 1, None, &groups);
    let content = memory.content("000001.log").unwrap();
    let (whole, _) = read(&*storage, 1, None).unwrap();
    let closed = wal.finish().unwrap();
    for bit in 0..content.len() * 8 {
        let mut damaged = content.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        memory.put("000001.log", damaged).unwrap();
        assert!(is_damage(&read(&*storage, 1, Some(closed.bytes))), "bit {bit} of a closed log");
        let outcome = read(&*storage, 1, None);
        if (bit / 8) < ends[2] as usize {
            assert!(is_damage(&outcome), "bit {bit} was durable");
        } else {
            let torn = ends.iter().position(|&end| (bit / 8) < end as usize).unwrap();
            assert_eq!(outcome.unwrap().0, whole[..torn], "bit {bit}");
        }
    }
}

#[test]
fn every_truncation_is_damage_of_a_closed_log_and_a_torn_tail_of_an_open_one() {
    let (memory, storage) = storage();
    let (wal, ends) = write(&storage, 1, None, &[(10, true), (300, false), (40, true), (25, false)]);
    let content = memory.content("000001.log").unwrap();
    let closed = wal.finish().unwrap();
    for length in 0..content.len() {
        memory.put("000001.log", content[..length].to_vec()).unwrap();
        assert!(is_damage(&read(&*storage, 1, Some(closed.bytes))), "{length} bytes");
        let whole = ends.iter().filter(|&&end| end as usize <= length).count();
        if length < HEADER_BYTES {
            assert!(is_damage(&read(&*storage, 1, None)), "the header was durable, but {length} bytes are there");
            continue;
        }
        let (found, end) = read(&*storage, 1, None).unwrap();
        assert_eq!(found.len(), whole);
        assert_eq!(end, if whole == 0 { HEADER_BYTES as u64 } else { ends[whole - 1] });
    }
    memory.put("000001.log", [&content[..], &[0; 5000]].concat()).unwrap();
    assert_eq!(read(&*storage, 1, Some(closed.bytes)).unwrap().0.len(), 4, "what lies behind is not the log's");
}

#[test]
fn logs_in_the_place_of_others_are_refused() {
    let (memory, storage) = storage();
    write(&storage, 1, None, &[(10, true), (20, true)]);
    let content = memory.content("000001.log").unwrap();
    memory.put("000002.log", content).unwrap();
    assert!(is_damage(&read(&*storage, 2, None)));
    for strange in [StoreBinding { store: OWNER.store ^ 1, ..OWNER }, StoreBinding { nonce: OWNER.nonce ^ 1, ..OWNER }]
    {
        assert!(is_damage(&replay(&*storage, strange, 1, 0, None, &mut |_, _| Ok(true))), "{strange:?}");
    }
}

/// Pitfall: a record of a recycled log with a valid checksum.
#[test]
fn nothing_of_the_old_log_passes_for_the_new_ones_at_any_alignment() {
    let (_, storage) = storage();
    let old: Vec<_> = (0..60).map(|i| (i % 7, i % 3 == 0)).collect();
    let shortest = HEADER_BYTES + 9 + 33;
    let mut number = 1;
    let (wal, ends) = write(&storage, number, None, &old);
    wal.finish().unwrap();
    assert!(ends[59] > 1000 + shortest as u64);
    for length in 0..1000 {
        let (wal, ends) = write(&storage, number + 1, Some(number), &[(length, length % 2 == 0)]);
        assert!(!storage.exists(&log_name(number)).unwrap());
        number += 1;
        let (found, end) = read(&*storage, number, None).unwrap();
        assert_eq!(found, vec![(group(0, length), false)]);
        assert_eq!(end, ends[0]);
        drop(wal);
        // And with all of the old log after it again.
        write(&storage, number + 1, Some(number), &old);
        number += 1;
    }
}

/// Bytes of the old log where a torn write of the new one left them.
#[test]
fn a_recycled_log_that_was_torn_holds_a_prefix_of_the_new_groups() {
    let (memory, storage) = storage();
    let (wal, _) = write(&storage, 1, None, &(0..40).map(|i| (100 + i, true)).collect::<Vec<_>>());
    wal.finish().unwrap();
    let old = memory.content("000001.log").unwrap();
    let mut wal = WalWriter::create((&storage, None), OWNER, 2, Some(1), None).unwrap();
    let mut random = 1_u64;
    for i in 0..12 {
        wal.append(&group(i, 200 + i), i as u64 + 1).unwrap();
        let new = memory.content("000002.log").unwrap();
        for _ in 0..64 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let mut image = old.clone();
            image.resize(new.len(), 0);
            // The first sector contains the durable header, and possibly more.
            image[..HEADER_BYTES].copy_from_slice(&new[..HEADER_BYTES]);
            for (sector, at) in (0..new.len()).step_by(512).enumerate() {
                if random >> (sector % 64) & 1 == 1 {
                    let end = (at + 512).min(new.len());
                    image[at..end].copy_from_slice(&new[at..end]);
                }
            }
            memory.put("000002.log", image).unwrap();
            let (found, _) = read(&*storage, 2, None).unwrap();
            assert!(found.iter().enumerate().all(|(at, (bytes, _))| *bytes == group(at, 200 + at)));
        }
        memory.put("000002.log", new).unwrap();
        // The writer has the replaced file open, so it starts over.
        wal = rewritten(&storage, i + 1);
    }
}

/// Log 2 with this many groups, without a sync.
fn rewritten(storage: &Arc<dyn Storage>, groups: usize) -> WalWriter {
    storage.rename("000002.log", "000001.log").unwrap();
    let mut wal = WalWriter::create((storage, None), OWNER, 2, Some(1), None).unwrap();
    for i in 0..groups {
        wal.append(&group(i, 200 + i), i as u64 + 1).unwrap();
    }
    wal
}

/// A log that no writer produces.
fn forge(storage: &Arc<dyn Storage>, number: u64, make: impl FnOnce(&mut LogWriter)) {
    let file = storage.create_update(&log_name(number)).unwrap();
    let mut records = LogWriter::new(file, OWNER.identity(number), &HEADER.encode(OWNER, number, [0, 0]));
    make(&mut records);
    records.flush().unwrap();
}

#[test]
fn records_that_no_writer_makes_are_damage() {
    let (_, storage) = storage();
    let first = HEADER_BYTES as u64;
    type Forgery = fn(&mut LogWriter, u64);
    let forgeries: [Forgery; 5] = [
        |records, first| {
            records.append(2, &[b"of another kind"]).unwrap();
            records.commit(1, first).unwrap();
        },
        |records, first| {
            records.append(GROUP_KIND, &[b"begins before the log"]).unwrap();
            records.commit(1, first - 1).unwrap();
        },
        |records, _| {
            records.append(GROUP_KIND, &[b"given up"]).unwrap();
            let first = records.position();
            records.append(GROUP_KIND, &[b"another"]).unwrap();
            records.commit(1, first).unwrap();
        },
        |records, first| {
            records.commit(5, first).unwrap();
            let second = records.position();
            records.commit(5, second).unwrap();
        },
        |records, first| {
            records.commit(u64::MAX, first).unwrap();
            let second = records.position();
            records.commit(1, second).unwrap();
        },
    ];
    for (i, forgery) in forgeries.into_iter().enumerate() {
        forge(&storage, i as u64 + 1, |records| forgery(records, first));
        assert!(is_damage(&read(&*storage, i as u64 + 1, None)), "forgery {i}");
    }
}

#[test]
fn a_record_is_found_where_its_place_says() {
    let (memory, storage) = storage();
    let mut place = RecordLocation { position: 0, body_bytes: 0 };
    forge(&storage, 1, |records| place = records.append(GROUP_KIND, &[b"he", b"re"]).unwrap());
    let content = memory.content("000001.log").unwrap();
    assert_eq!(content[place.position as usize + 5..][..4], *b"here");
    let file = storage.open("000001.log").unwrap();
    let mut bytes = [0; 4];
    file.read(ReadRequest { offset: place.position + 5, buffer: &mut bytes, purpose: Purpose::Log }).unwrap();
    assert_eq!(bytes, *b"here");
}

const DOCUMENT: &str = include_str!("../../../../../../docs/format/write-ahead-log.md");

#[test]
fn the_example_of_the_document_is_what_is_written_and_what_is_read() {
    let (memory, storage) = storage();
    let binding = StoreBinding { store: 0x0123_4567_89ab_cdef, nonce: 0x1111_2222_3333_4444 };
    let mut first = 41_u64.to_le_bytes().to_vec();
    encode_operation(&mut first, Action::Put(ValueKind::Value), 0, b"cat", b"meow");
    let mut second = 42_u64.to_le_bytes().to_vec();
    encode_operation(&mut second, Action::Put(ValueKind::Remove), 2, b"dog", b"");
    encode_operation(&mut second, Action::RemoveRange, 0, b"a", b"c");
    encode_operation(&mut second, Action::RemoveRange, 0, b"x", b"");
    let before = ClosedLog { number: 5, bytes: 131 };
    let mut wal = WalWriter::create((&storage, None), binding, 7, None, Some(before)).unwrap();
    wal.append(&first, 41).unwrap();
    wal.sync().unwrap();
    wal.append(&second, 44).unwrap();
    assert_eq!(memory.content(&log_name(7)).unwrap(), example(DOCUMENT, "log"));
    memory.put(&log_name(7), example(DOCUMENT, "log")).unwrap();
    assert_eq!(header(&*storage, 7).unwrap().as_ref().and_then(previous), Some(before));
    let mut found = Vec::new();
    replay(&*storage, binding, 7, 0, None, &mut |group, synced| {
        found.push((group.to_vec(), synced));
        Ok(true)
    })
    .unwrap();
    assert_eq!(found, [(first, true), (second, false)]);
}

proptest! {
    #[test]
    fn any_tail_leaves_the_groups_before_it(
        groups in proptest::collection::vec((0_usize..3000, any::<bool>()), 1..12),
        cut in any::<prop::sample::Index>(), tail in proptest::collection::vec(any::<u8>(), 0..2000),
    ) {
        let (memory, storage) = storage();
        let (_, ends) = write(&storage, 1, None, &groups);
        let content = memory.content("000001.log").unwrap();
        let cut = cut.index(content.len() + 1);
        memory.put("000001.log", [&content[..cut], &tail[..]].concat()).unwrap();
        let whole = ends.iter().filter(|&&end| end as usize <= cut).count();
        if cut < HEADER_BYTES {
            prop_assert!(is_damage(&read(&*storage, 1, None)));
            return Ok(());
        }
        let (found, _) = read(&*storage, 1, None).unwrap();
        // The tail may happen to begin like the part that was cut off.
        prop_assert!(found.len() >= whole);
        for (i, (bytes, _)) in found.iter().enumerate() {
            prop_assert_eq!(bytes, &group(i, groups[i].0));
        }
    }

    #[test]
    fn any_file_is_read_without_a_panic(
        content in proptest::collection::vec(any::<u8>(), 0..600), closed_at in proptest::option::of(0_u64..700),
    ) {
        let (memory, storage) = storage();
        let mut log = HEADER.encode(OWNER, 1, [0, 0]).to_vec();
        log.extend_from_slice(&content);
        memory.put("000001.log", log).unwrap();
        let outcome = read(&*storage, 1, closed_at);
        prop_assert!(outcome.is_err() || closed_at.is_none_or(|at| at == HEADER_BYTES as u64));
    }
}
