//! Tests of the block cache: what is held, what leaves, and the memory of both.

use super::*;
use proptest::prelude::*;
use std::sync::Weak;

/// The least block where nothing else matters.
const LEAST_BLOCK_BYTES: u64 = 512;
/// A block of a page's size is cached with this.
const PAGE_BYTES: u64 = 4096;

fn key(number: u32) -> BlockKey {
    BlockKey { owner: 1, number }
}

fn block(length: usize, filled_with: u64) -> Arc<[u8]> {
    vec![filled_with as u8; length].into()
}

/// Length, first byte and note of a block.
fn found(cache: &BlockCache, key: BlockKey) -> Option<(usize, u8, BlockNote)> {
    cache.visit(key, |bytes, note| (bytes.len(), bytes.first().copied().unwrap_or(0), *note))
}

/// Bytes actually held: the blocks that are still alive, and the tables of the cache.
fn really_held(cache: &BlockCache, blocks: &[Weak<[u8]>]) -> u64 {
    let alive = blocks.iter().filter_map(Weak::upgrade);
    // Two counters of an `Arc`, and the overhead of an allocation.
    let blocks: u64 = alive.map(|block| block.len() as u64 + 16 + 16).sum();
    let Some(table) = cache.table.get() else { return blocks };
    let slots: usize = table.chunks.iter().filter_map(OnceLock::get).map(|chunk| size_of_val(&**chunk)).sum();
    let free = cache.hand.lock().free.capacity() * 4;
    blocks + (slots + size_of_val(&*table.chunks) + free) as u64 + KeyBuckets::bytes(cache.slots)
}

#[test]
fn a_slot_takes_one_cache_line() {
    assert_eq!(size_of::<CacheSlot>(), 64);
}

#[test]
fn blocks_are_found_by_their_owner_and_number() {
    let cache = BlockCache::new(1 << 20, LEAST_BLOCK_BYTES);
    let (one, other) = (cache.owner(), cache.owner());
    let of = |owner: u32, number: u32| BlockKey { owner, number };
    cache.insert_noted(of(one, 3), block(512, 7), [1, 2, 3, 4, 5]);
    assert_eq!(found(&cache, of(one, 3)), Some((512, 7, [1, 2, 3, 4, 5])));
    assert_eq!(cache.get(of(one, 3)).unwrap()[..], [7; 512]);
    for absent in [of(one, 2), of(other, 3), of(one, u32::MAX)] {
        assert_eq!(found(&cache, absent), None);
    }
    cache.set_note(of(one, 3), [5, 4, 3, 2, 1]);
    cache.set_note(of(other, 3), [0; 5]);
    assert_eq!(found(&cache, of(one, 3)), Some((512, 7, [5, 4, 3, 2, 1])));
    cache.insert(of(one, 3), block(600, 8));
    assert_eq!(found(&cache, of(one, 3)), Some((600, 8, [0; 5])), "the newer one counts");
    cache.insert(of(other, 4), block(512, 9));
    cache.forget(one, 4);
    assert_eq!((found(&cache, of(one, 3)), found(&cache, of(other, 4))), (None, Some((512, 9, [0; 5]))));
    cache.remove(of(other, 4));
    assert_eq!((found(&cache, of(other, 4)), cache.held_bytes()), (None, 0));
}

#[test]
fn a_file_that_is_opened_again_has_its_owner_until_too_many_were() {
    let cache = BlockCache::new(1 << 20, LEAST_BLOCK_BYTES);
    let (one, other) = (cache.owner_of_file(1), cache.owner_of_file(2));
    assert!(one != other && cache.owner_of_file(1) == one && cache.owner() != one);
    (0..REMEMBERED_FILES_MAX as u64).for_each(|file| _ = cache.owner_of_file(file));
    assert!(cache.files.lock().len() <= REMEMBERED_FILES_MAX && cache.owner_of_file(1) != other);
}

#[test]
fn a_block_without_an_owner_is_not_held() {
    let cache = BlockCache::new(1 << 20, LEAST_BLOCK_BYTES);
    cache.owners.store(NO_OWNER - 1, Ordering::Relaxed);
    assert_eq!([cache.owner(), cache.owner(), cache.owner()], [NO_OWNER - 1, NO_OWNER, NO_OWNER]);
    cache.insert(BlockKey { owner: NO_OWNER, number: 0 }, block(512, 1));
    assert_eq!(cache.held_bytes(), 0);
}

#[test]
fn what_is_asked_for_again_outlives_a_scan() {
    let cache = BlockCache::new(100 * (PAGE_BYTES + ENTRY_OVERHEAD_BYTES) + 4096, PAGE_BYTES);
    for hot in 0..20 {
        cache.insert(key(hot), block(4096, hot.into()));
        (0..3).for_each(|_| _ = found(&cache, key(hot)));
    }
    for scanned in 20..220 {
        cache.insert(key(scanned), block(4096, scanned.into()));
    }
    assert!((0..20).all(|hot| found(&cache, key(hot)).is_some()));
}

#[test]
fn work_that_is_repeated_displaces_earlier_work() {
    let cache = BlockCache::new(8 << 20, 2048);
    let read = |blocks: std::ops::Range<u32>| {
        let mut hits = 0;
        for number in blocks {
            match cache.get(key(number)) {
                Some(_) => hits += 1,
                None => cache.insert(key(number), block(2048, number.into())),
            }
        }
        hits
    };
    (0..4).for_each(|_| _ = read(0..3_000));
    (0..4).for_each(|_| _ = read(10_000..12_000));
    assert_eq!(read(10_000..12_000), 2_000, "blocks that were read five times");
}

#[test]
fn all_blocks_stay_where_the_budget_has_room_for_them() {
    for length in [512, 4096, 65_536] {
        let cache = BlockCache::new(5400 * (length + ENTRY_OVERHEAD_BYTES), length / 4);
        (0..5000).for_each(|number| cache.insert(key(number), block(length as usize, number.into())));
        let held = (0..5000).filter(|&number| found(&cache, key(number)).is_some()).count();
        assert_eq!(held, 5000, "blocks of {length} bytes");
    }
}

#[test]
fn a_crowded_bucket_loses_the_block_with_the_fewest_marks() {
    let cache = BlockCache::new(1 << 20, LEAST_BLOCK_BYTES);
    let one_bucket = SlotTable { buckets: KeyBuckets::for_slots(1), ..SlotTable::of(cache.slots) };
    cache.table.set(one_bucket).unwrap();
    let visit = |number: u32| found(&cache, key(number)).is_some();
    for number in 0..10 {
        cache.insert(key(number), block(512, 0));
        (0..3).for_each(|_| assert!(visit(number)));
    }
    (10..50).for_each(|number| cache.insert(key(number), block(512, 0)));
    let held = [0..10, 10..50].map(|numbers| numbers.filter(|&number| visit(number)).count() as u64);
    assert_eq!(held, [10, 6]);
    assert_eq!(16 * (512 + ENTRY_OVERHEAD_BYTES), cache.held_bytes(), "each block that is held is found");
}

#[test]
fn a_budget_of_nothing_holds_nothing() {
    for budget in [0, 1, ENTRY_OVERHEAD_BYTES] {
        let cache = BlockCache::new(budget, LEAST_BLOCK_BYTES);
        cache.insert(key(0), block(0, 0));
        cache.insert(key(1), block(512, 0));
        assert_eq!((cache.get(key(0)), cache.get(key(1)), cache.held_bytes()), (None, None, 0));
    }
}

#[test]
fn a_cache_of_accounts_reserves_and_holds_nothing() {
    let (counted, none) = (BlockCache::accounting(1 << 20), BlockCache::none());
    for cache in [&counted, &none] {
        cache.insert(key(0), block(512, 0));
        assert_eq!((cache.get(key(0)), cache.held_bytes()), (None, 0));
    }
    assert!(counted.try_reserve(500 << 10) && !counted.try_reserve(500 << 10));
    assert!(none.try_reserve(1 << 50) && none.try_reserve_flat(1 << 50));
}

#[test]
fn a_block_larger_than_the_budget_is_not_held_and_the_largest_that_fits_is() {
    let cache = BlockCache::new(100_000, LEAST_BLOCK_BYTES);
    cache.insert(key(0), block(100_001, 0));
    assert_eq!(cache.held_bytes(), 0);
    cache.insert(key(0), block(90_000, 0));
    assert!(cache.get(key(0)).is_some());
}

#[test]
fn what_is_kept_for_other_things_comes_off_the_blocks() {
    let cache = BlockCache::new((1 << 20) + (16 << 10), LEAST_BLOCK_BYTES);
    let fill = || (0..1000).for_each(|number| cache.insert(key(number), block(4096, number.into())));
    fill();
    assert!(cache.try_reserve(500 << 10) && cache.held_bytes() <= 540 << 10);
    fill();
    assert!(!cache.try_reserve(400 << 10) && cache.held_bytes() <= 540 << 10);
    cache.reserve(500 << 10);
    assert!(cache.held_bytes() <= 40 << 10);
    cache.reserve(400 << 10);
    fill();
    assert_eq!(cache.held_bytes(), 0);
    cache.release(1400 << 10);
    fill();
    assert!(cache.held_bytes() > 1000 << 10);
}

#[test]
fn blocks_of_every_size_stay_within_the_budget_with_their_tables() {
    for (budget, length) in
        [(64 << 10, 0), (64 << 10, 64), (1 << 20, 512), (3 << 20, 4096), (20 << 20, 16_384), (40 << 20, 65_536)]
    {
        let cache = BlockCache::new(budget, length as u64);
        let mut blocks = Vec::new();
        for i in 0..6000 {
            let block = block(length, i.into());
            blocks.push(Arc::downgrade(&block));
            cache.insert(key(i), block);
            // Some are read again, and become hot.
            cache.get(key(i / 3));
            if i % 500 == 499 {
                let held = really_held(&cache, &blocks);
                assert!(held <= budget, "{held} bytes within {budget}, blocks of {length}");
            }
        }
        assert!(cache.held_bytes() > budget / 2, "the budget of {budget} is hardly used: {}", cache.held_bytes());
    }
}

#[test]
fn threads_together_stay_within_the_budget_and_get_what_they_ask_for() {
    let cache = BlockCache::new(300_000, LEAST_BLOCK_BYTES);
    let owners = [cache.owner(), cache.owner()];
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let cache = &cache;
            scope.spawn(move || {
                for i in 0..4000_u64 {
                    let (owner, number) = (owners[(i % 2) as usize], (i * 7 + thread * 13) % 500);
                    let key = BlockKey { owner, number: number as u32 };
                    match found(cache, key) {
                        Some((length, with, _)) => assert_eq!((length, with), (2048, number as u8)),
                        None => cache.insert(key, block(2048, number)),
                    }
                    if i % 97 == 0 {
                        cache.remove(key);
                    }
                    assert!(cache.held_bytes() <= 300_000);
                }
            });
        }
    });
}

proptest! {
    #[test]
    fn what_is_held_is_what_was_put_there_within_the_budget(
        budget in 0_u64..400_000,
        least in 0_u64..5000,
        steps in proptest::collection::vec((0_u32..60, 0_usize..9000, 0_u8..8), 0..200),
    ) {
        let cache = BlockCache::new(budget, least);
        let mut put = [None; 60];
        let mut blocks = Vec::new();
        for (number, length, what) in steps {
            match what {
                0 => {
                    cache.forget(1, 60);
                    prop_assert_eq!(cache.held_bytes(), 0);
                    put = [None; 60];
                }
                1 => {
                    cache.remove(key(number));
                    put[number as usize] = None;
                }
                2..4 => {
                    let held = found(&cache, key(number)).map(|(length, ..)| length);
                    prop_assert!(held.is_none() || held == put[number as usize]);
                }
                _ => {
                    put[number as usize] = Some(length);
                    let block = block(length, number.into());
                    blocks.push(Arc::downgrade(&block));
                    cache.insert(key(number), block);
                }
            }
            prop_assert!(cache.held_bytes() <= budget);
            prop_assert!(cache.held_bytes() == 0 || really_held(&cache, &blocks) <= budget);
        }
    }
}
