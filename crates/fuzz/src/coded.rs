//! Fuzz target: coded step nodes: forged layers, and layers over any row of children.

use crate::input::{take_u8, take_u64};
use ogive_model::Fence;
use ogive_model::Router;
use ogive_model::coded::{self, Effort, StringLayer};

/// Searches a forged layer of integers. Input: groups u8, key u64, the stored layer.
pub fn integers(mut data: &[u8]) {
    let groups = usize::from(take_u8(&mut data));
    let x = take_u64(&mut data);
    for x in [x, 0, u64::MAX] {
        if let Some(child) = coded::search(data, groups, x) {
            let _ = coded::separator_at(data, groups, child);
        }
    }
    for child in [0, 1, x, u64::MAX] {
        let _ = coded::separator_at(data, groups, child);
    }
}

/// Stored layers over easy and hard separators.
pub fn integer_seeds() -> Vec<Vec<u8>> {
    let rows = [arithmetic(700, 1000), (0..60).map(|bit| 1 << bit).collect(), vec![7]];
    let seed = |separators: &Vec<u64>| {
        let layer = coded::encode_row(separators[0], &fences(&separators[1..]), 1, Effort::Quick);
        let mut bytes = vec![layer.groups() as u8];
        bytes.extend_from_slice(&separators[separators.len() / 2].to_le_bytes());
        layer.encode(0..layer.groups(), &mut bytes);
        bytes
    };
    rows.iter().map(seed).collect()
}

/// Codes any row of children and searches it. Input: u64 numbers; sorted, each pair of them is a fence.
///
/// # Panics
/// When a key beside a border is led to the wrong child: the broken promise.
pub fn row(mut data: &[u8]) {
    let mut numbers = Vec::new();
    while !data.is_empty() {
        numbers.push(take_u64(&mut data));
    }
    numbers.sort_unstable();
    numbers.dedup();
    let fences: Vec<Fence> = numbers.chunks_exact(2).map(|pair| Fence { low: pair[0], high: pair[1] }).collect();
    for effort in [Effort::Quick, Effort::Full] {
        let layer = coded::encode_row(0, &fences, 1, effort);
        let mut stored = Vec::new();
        layer.encode(0..layer.groups(), &mut stored);
        assert_eq!(layer.children(), fences.len() as u64 + 1);
        assert_eq!(layer.total_len(), stored.len());
        for (left, fence) in (0_u64..).zip(&fences) {
            assert_eq!(coded::search(&stored, layer.groups(), fence.low), Some(left), "{fence:?}");
            assert_eq!(coded::search(&stored, layer.groups(), fence.high), Some(left + 1), "{fence:?}");
        }
    }
}

/// Rows that are even, dense, and spread over all magnitudes.
pub fn row_seeds() -> Vec<Vec<u8>> {
    let spread: Vec<u64> = (0..64).flat_map(|bit| [1 << bit, (1 << bit) + 1]).chain([u64::MAX - 1, u64::MAX]).collect();
    let rows = [arithmetic(600, 1 << 40), arithmetic(600, 1), spread];
    rows.iter().map(|row| row.iter().flat_map(|number| number.to_le_bytes()).collect()).collect()
}

/// Searches a forged layer of byte strings. Input: groups u8, length of the key u8, the key, the stored layer.
pub fn strings(mut data: &[u8]) {
    let groups = usize::from(take_u8(&mut data));
    let length = usize::from(take_u8(&mut data)).min(data.len());
    let (key, payload) = data.split_at(length);
    for key in [key, b"", &[0xFF; 32]] {
        let _ = coded::search_strings(payload, groups, key);
    }
    let _ = coded::first_string(payload, groups);
}

/// A stored layer of words.
pub fn string_seeds() -> Vec<Vec<u8>> {
    let separators: Vec<Vec<u8>> =
        (0..200).map(|word| format!("word/{word:04}/{}", "x".repeat(word % 40)).into_bytes()).collect();
    let layer = StringLayer::from_separators(&separators);
    let mut bytes = vec![layer.groups() as u8, 9];
    bytes.extend_from_slice(b"word/0100");
    layer.encode(0..layer.groups(), &mut bytes);
    vec![bytes]
}

fn arithmetic(count: u64, step: u64) -> Vec<u64> {
    (1..=count).map(|number| number * step).collect()
}

fn fences(separators: &[u64]) -> Vec<Fence> {
    separators.iter().map(|&high| Fence { low: high - 1, high }).collect()
}

/// Opens forged bytes as a router, and looks keys up. Input: length of a key u8, the key, the stored router.
///
/// # Panics
/// When a key is led to a block that there is not: the broken promise.
pub fn router(mut data: &[u8]) {
    let length = usize::from(take_u8(&mut data)).min(data.len());
    let (key, stored) = data.split_at(length);
    if let Ok(router) = Router::<u64>::open(stored) {
        let number = key.iter().fold(0, |number, &byte| (number << 8) | u64::from(byte));
        for key in [number, 0, u64::MAX] {
            assert!(router.locate(&key) < router.blocks().max(1));
        }
    }
    if let Ok(router) = Router::<[u8]>::open(stored) {
        for key in [key, &[], &[255; 64]] {
            assert!(router.locate(key) < router.blocks().max(1));
        }
    }
}

/// Routers over both types of keys.
pub fn router_seeds() -> Vec<Vec<u8>> {
    let (mut integers, mut strings) = (Router::<u64>::builder(), Router::<[u8]>::builder());
    for number in arithmetic(300, 1 << 20) {
        let _ = integers.push(&number);
        let _ = strings.push(&number.to_be_bytes());
    }
    let seed = |stored: Vec<u8>| [&[3][..], b"key", &stored].concat();
    vec![seed(integers.finish()), seed(strings.finish()), seed(Router::<u64>::builder().finish())]
}
