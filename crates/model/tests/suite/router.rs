//! Goal: a router leads every key, present or absent, to the block that a search of plain separators finds; it refuses
//! what is out of order; and no bytes make it panic or take it out of its blocks. Method: generated rows of blocks
//! against a linear search, then flipped, cut and re-signed bytes.

use ogive_model::router::{Router, RouterError, RouterKey};
use proptest::prelude::*;

/// The keys of each block.
type Blocks<K> = Vec<Vec<K>>;

/// The block of a key: the last that begins at or below it; of several that hold it, the first.
fn expected<K: Ord>(blocks: &Blocks<K>, key: &K) -> u64 {
    let holding = blocks.iter().position(|block| block.contains(key));
    let at = holding.unwrap_or_else(|| blocks.partition_point(|block| block[0] <= *key).saturating_sub(1));
    at as u64
}

/// Cuts sorted keys into blocks.
fn cut<K: Ord + Clone>(mut keys: Vec<K>, lengths: &[usize]) -> Blocks<K> {
    keys.sort();
    let mut blocks = Vec::new();
    let mut lengths = lengths.iter().cycle();
    let mut rest = keys.as_slice();
    while !rest.is_empty() {
        let (block, tail) = rest.split_at((*lengths.next().unwrap()).min(rest.len()));
        blocks.push(block.to_vec());
        rest = tail;
    }
    blocks
}

fn built<K: Ord, Q: RouterKey + ?Sized>(blocks: &Blocks<K>, shown: impl Fn(&K) -> &Q, between: bool) -> Vec<u8> {
    let mut builder = Router::<Q>::builder();
    for (i, block) in blocks.iter().enumerate() {
        let first = shown(&block[0]);
        match i.checked_sub(1).filter(|_| between) {
            Some(before) => builder.push_between(shown(blocks[before].last().unwrap()), first).unwrap(),
            None => builder.push(first).unwrap(),
        }
    }
    builder.finish()
}

/// Where a key may be found. A block whose last key was not told can end in repeats of the next one's first key.
fn check<K: Ord, Q: RouterKey + ?Sized>(
    stored: &[u8],
    blocks: &Blocks<K>,
    shown: impl Fn(&K) -> &Q,
    key: &K,
    between: bool,
) {
    let router = Router::<Q>::open(stored).unwrap();
    assert_eq!(router.blocks(), blocks.len() as u64);
    let found = router.locate(shown(key));
    let is_present = blocks.iter().any(|block| block.contains(key));
    if between && is_present {
        assert_eq!(found, expected(blocks, key));
    } else if is_present {
        assert!(blocks[found as usize].contains(key));
        // Of blocks that begin with the key, the first.
        assert!(found == 0 || blocks[found as usize - 1][0] != *key);
    } else {
        // An absent key between two blocks may be located on either side.
        let right = blocks.partition_point(|block| block[0] <= *key) as u64;
        assert!((right.saturating_sub(1)..=right).contains(&found) && found < blocks.len() as u64);
        assert!(between || found == right.saturating_sub(1));
    }
}

fn integers() -> impl Strategy<Value = Vec<u64>> {
    let key = prop_oneof![
        0..40_u64,
        any::<u64>(),
        (0..2_000_u64).prop_map(|i| i * i * 4_099),
        (0..2_000_u64).prop_map(|i| i << 40),
        Just(0),
        (0..3_u64).prop_map(|i| u64::MAX - i),
    ];
    prop::collection::vec(key, 1..1_500)
}

fn strings() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![Just(0_u8), Just(255), 97..100_u8];
    let key = prop_oneof![
        prop::collection::vec(byte, 0..6),
        (0..500_u32).prop_map(|i| format!("https://example.com/a/long/path/{i:05}").into_bytes()),
        (0..40_usize).prop_map(|length| vec![b'a'; length]),
        (0..4_usize, any::<u8>()).prop_map(|(length, byte)| vec![byte; length * 1_100]),
    ];
    prop::collection::vec(key, 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn integers_are_led_to_their_blocks(
        keys in integers(),
        lengths in prop::collection::vec(1..9_usize, 1..9),
        others in prop::collection::vec(any::<u64>(), 20),
        between: bool,
    ) {
        let blocks = cut(keys.clone(), &lengths);
        let stored = built(&blocks, |key| key, between);
        let beside = keys.iter().flat_map(|key| [*key, key.saturating_add(1), key.saturating_sub(1)]);
        beside.chain(others).for_each(|key| check(&stored, &blocks, |key| key, &key, between));
    }

    #[test]
    fn byte_strings_are_led_to_their_blocks(
        keys in strings(),
        lengths in prop::collection::vec(1..9_usize, 1..9),
        between: bool,
    ) {
        let blocks = cut(keys.clone(), &lengths);
        let stored = built(&blocks, Vec::as_slice, between);
        let beside = keys.iter().flat_map(|key| {
            let shorter = key[..key.len().saturating_sub(1)].to_vec();
            [key.clone(), [key, &[0][..]].concat(), [key, &[255][..]].concat(), shorter]
        });
        beside.for_each(|key| check(&stored, &blocks, Vec::as_slice, &key, between));
    }

    #[test]
    fn no_bytes_lead_out_of_the_blocks(
        keys in integers(),
        words in strings(),
        at: prop::sample::Index,
        byte: u8,
        length: prop::sample::Index,
    ) {
        let routers = [built(&cut(keys, &[3]), |key| key, true), built(&cut(words, &[3]), Vec::as_slice, true)];
        for mut stored in routers {
            let end = stored.len() - 4;
            stored[at.index(end)] = byte;
            let cut = &stored[..length.index(stored.len())];
            prop_assert!(Router::<u64>::open(cut).is_err() && Router::<[u8]>::open(cut).is_err());
            let checksum = crc32c(&stored[..end]);
            stored[end..].copy_from_slice(&checksum.to_le_bytes());
            if let Ok(router) = Router::<u64>::open(&stored) {
                for key in [0, 1, 1 << 40, u64::MAX] {
                    prop_assert!(router.locate(&key) < router.blocks().max(1));
                }
            }
            if let Ok(router) = Router::<[u8]>::open(&stored) {
                for key in [&b""[..], b"aa", b"https://example.com/a/long/path/00300", &[255; 5000]] {
                    prop_assert!(router.locate(key) < router.blocks().max(1));
                }
            }
        }
    }
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

#[test]
fn a_changed_bit_is_an_error() {
    let blocks: Blocks<u64> = (0..300).map(|i| vec![i * i, i * i + i]).collect();
    let stored = built(&blocks, |key| key, false);
    for bit in 0..8 * stored.len() {
        let mut damaged = stored.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Router::<u64>::open(&damaged).is_err(), "bit {bit}");
    }
    assert!(Router::<u64>::open(&[&stored[..], &[0]].concat()).is_err());
}

#[test]
fn what_is_out_of_order_is_refused_and_changes_nothing() {
    let mut builder = Router::<u64>::builder();
    assert_eq!(builder.push_between(&6, &5), Err(RouterError::OutOfOrder { block: 0 }));
    builder.push(&10).unwrap();
    assert_eq!(builder.push(&9), Err(RouterError::OutOfOrder { block: 1 }));
    assert_eq!(builder.push_between(&9, &20), Err(RouterError::OutOfOrder { block: 1 }));
    assert_eq!(builder.push_between(&21, &20), Err(RouterError::OutOfOrder { block: 1 }));
    builder.push_between(&10, &20).unwrap();
    let stored = builder.finish();
    let router = Router::<u64>::open(&stored).unwrap();
    assert_eq!([9, 10, 20, 30].map(|key| router.locate(&key)), [0, 0, 1, 1]);

    let mut builder = Router::<[u8]>::builder();
    assert_eq!(builder.push_between(b"b", b"a"), Err(RouterError::OutOfOrder { block: 0 }));
    builder.push(b"k").unwrap();
    assert_eq!(builder.push(b"j"), Err(RouterError::OutOfOrder { block: 1 }));
    assert_eq!(builder.push_between(b"j", b"z"), Err(RouterError::OutOfOrder { block: 1 }));
    builder.push_between(b"kite", b"lamp").unwrap();
    let stored = builder.finish();
    let router = Router::<[u8]>::open(&stored).unwrap();
    assert_eq!([&b""[..], b"k", b"kz", b"l", b"lamp", b"zoo"].map(|key| router.locate(key)), [0, 0, 0, 1, 1, 1]);
}

#[test]
fn routers_without_blocks_and_other_bytes_are_told_apart() {
    let stored = Router::<u64>::builder().finish();
    let empty = Router::<u64>::open(&stored).unwrap();
    assert_eq!((empty.blocks(), empty.locate(&7)), (0, 0));
    assert_eq!(Router::<[u8]>::open(&stored).unwrap_err(), RouterError::OtherKeys);
    assert_eq!(Router::<[u8]>::open(b"parquet").unwrap_err(), RouterError::NotARouter);
    assert_eq!(Router::<[u8]>::open(&[0; 64]).unwrap_err(), RouterError::NotARouter);
    let newer = [&stored[..4], &[2], &stored[5..]].concat();
    assert_eq!(Router::<u64>::open(&newer).unwrap_err(), RouterError::UnknownVersion(2));
}

#[test]
fn a_router_over_smooth_integers_takes_less_than_two_bytes_a_block() {
    let blocks = 20_000_u64;
    let mut builder = Router::<u64>::builder();
    let mut state = 7_u64;
    for block in 0..blocks {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let first = block * 10_000 + state % 300;
        builder.push_between(&(first - (first.min(200))), &first).unwrap();
    }
    let bytes = builder.finish().len() as u64;
    assert!(bytes < 2 * blocks, "{bytes}");
}

/// The bytes of the block of the format's page that begins with "```hex strings". A line is an offset and up to sixteen
/// bytes, with a note behind a semicolon.
fn example() -> Vec<u8> {
    let page = include_str!("../../../../docs/format/router.md");
    let (_, rest) = page.split_once("```hex strings\n").unwrap();
    let lines = rest.split_once("```").unwrap().0.lines();
    let words = lines.flat_map(|line| line.split(';').next().unwrap().split_whitespace().skip(1));
    words.map(|word| u8::from_str_radix(word, 16).unwrap()).collect()
}

#[test]
fn the_example_of_the_page_is_what_the_builder_makes() {
    let mut builder = Router::<[u8]>::builder();
    builder.push(b"apple").unwrap();
    builder.push_between(b"banana", b"cherry").unwrap();
    builder.push_between(b"citron", b"cranberry").unwrap();
    builder.push_between(b"cranberry", b"cranberry").unwrap();
    assert_eq!(builder.finish(), example());
    let stored = example();
    let router = Router::<[u8]>::open(&stored).unwrap();
    let found = [&b"banana"[..], b"cherry", b"citron", b"cranberry", b"cranberry2"].map(|key| router.locate(key));
    assert_eq!(found, [0, 1, 1, 2, 3]);
}
