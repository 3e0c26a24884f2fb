//! The keys of a shape, in order.

use super::shape::{Ends, Shape};
use crate::random::Random;

const WORDS: [&str; 10] = ["usr", "lib", "share", "a", "b", "item", "images", "index.html", "x86_64", "\u{fc}ber"];

/// Shows the keys of a shape, sorted.
pub(super) fn visit(shape: &Shape, show: &mut dyn FnMut(&[u8])) {
    match shape.ends {
        Ends::Dense | Ends::Jittered | Ends::Hashed | Ends::Clusters | Ends::RepeatedNumbers => numbers(shape, show),
        _ => strings(shape, show),
    }
}

fn numbers(shape: &Shape, show: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(shape.seed);
    let count = shape.rows as u64;
    let start = random.pick_start(count);
    let mut keys: Vec<u64> = match shape.ends {
        Ends::Jittered => (0..count).map(|i| (i << 10) + random.below(1 << 10)).collect(),
        Ends::Hashed => (0..count).map(|_| random.next_u64()).collect(),
        Ends::Clusters => {
            let run = 1 + random.below(3000);
            (0..count).map(|i| ((i / run) << 40) + i % run).collect()
        }
        Ends::RepeatedNumbers => {
            let mut at = start;
            let next = (0..count).map(|_| {
                at = at.saturating_add(if random.one_in(40) { random.below(1 << 30) } else { 0 });
                at
            });
            next.collect()
        }
        _ => (0..count).map(|i| start + i).collect(),
    };
    let width = shape.key_type.width().unwrap_or(8);
    if width < 8 {
        keys.iter_mut().for_each(|key| *key &= (1 << (8 * width)) - 1);
    }
    keys.sort_unstable();
    let wide = random.below(3);
    for key in keys {
        let key = u128::from(key);
        let key = match width {
            16 => [key, (key << 64) | (key % 251), key << 30][wide as usize],
            9.. => key << [0, 8 * (width - 8), 3 * (width - 8)][wide as usize],
            _ => key,
        };
        show(&key.to_be_bytes()[16 - width..]);
    }
}

impl Random {
    /// The start of a run of numbers: near a limit of integers or floats, or anywhere.
    fn pick_start(&mut self, count: u64) -> u64 {
        match self.below(6) {
            0 | 1 => 0,
            2 => (1 << 32) - (count / 2).min(1 << 31),
            3 => (1 << 63) - count / 2,
            4 => u64::MAX - count,
            _ => self.next_u64() >> 1,
        }
    }
}

fn strings(shape: &Shape, show: &mut dyn FnMut(&[u8])) {
    let ends = all_ends(shape);
    let prefixes = prefixes(shape);
    let each = ends.len().div_ceil(prefixes.len()).max(1);
    let mut key = Vec::new();
    for (ends, prefix) in ends.chunks(each).zip(&prefixes) {
        for end in ends {
            key.clear();
            key.extend_from_slice(prefix);
            key.extend_from_slice(end);
            show(&key);
        }
    }
}

/// Sorted, and different from each other.
fn prefixes(shape: &Shape) -> Vec<Vec<u8>> {
    let mut random = Random::new(shape.seed ^ 0x11);
    let plain = random.one_in(4);
    let letter = |random: &mut Random| if plain { b'p' } else { b'a' + random.below(26) as u8 };
    let count = if shape.prefix_bytes > 0 { shape.prefixes.max(1) } else { 1 };
    // They differ somewhere, mostly not at their beginning.
    let shared = random.below(shape.prefix_bytes as u64 + 1) as usize;
    let head: Vec<u8> = (0..shared).map(|_| letter(&mut random)).collect();
    let mut prefixes: Vec<Vec<u8>> = (0..count)
        .map(|_| head.iter().copied().chain((shared..shape.prefix_bytes).map(|_| letter(&mut random))).collect())
        .collect();
    prefixes.sort();
    prefixes.dedup();
    prefixes
}

/// The ends of all keys, sorted.
fn all_ends(shape: &Shape) -> Vec<Vec<u8>> {
    let mut random = Random::new(shape.seed ^ 0x22);
    let count = shape.rows as u64;
    let mut ends: Vec<Vec<u8>> = match shape.ends {
        Ends::Hexadecimal => (0..count).map(|_| format!("{:016x}", random.next_u64()).into_bytes()).collect(),
        Ends::Nested => {
            let step = 1 + random.below(2) as usize;
            (0..shape.rows).map(|i| vec![b'a'; i * step]).collect()
        }
        Ends::Paths => (0..count).map(|_| path(&mut random)).collect(),
        Ends::Repeats => repeats(count, &mut random),
        Ends::Binary => (0..count).map(|_| binary(&mut random)).collect(),
        Ends::Tails(bytes) => (0..count).map(|i| tail(i, bytes, &mut random)).collect(),
        _ => {
            let step = if random.one_in(2) { 1 } else { 1 + random.below(1000) };
            (0..count).map(|i| format!("{:010}", i * step).into_bytes()).collect()
        }
    };
    ends.sort();
    if !matches!(shape.ends, Ends::Repeats) {
        ends.dedup();
    }
    ends
}

fn path(random: &mut Random) -> Vec<u8> {
    let depth = 1 + random.below(5);
    let words: Vec<&str> = (0..depth).map(|_| WORDS[random.below(WORDS.len() as u64) as usize]).collect();
    let most = 10_u64.pow(1 + random.below(7) as u32);
    format!("/{}/{}", words.join("/"), random.below(most)).into_bytes()
}

/// Mostly alone or a few of a kind; now and then more than any block takes.
fn repeats(count: u64, random: &mut Random) -> Vec<Vec<u8>> {
    let mut ends = Vec::new();
    let mut number = 0;
    while (ends.len() as u64) < count {
        number += 1 + random.below(20);
        let bits = random.below(16);
        let times = (1 + random.below(1 << bits)).min(count - ends.len() as u64);
        ends.extend((0..times).map(|_| format!("{number:010}").into_bytes()));
    }
    ends
}

fn binary(random: &mut Random) -> Vec<u8> {
    let length = random.below(25);
    let byte = |random: &mut Random| match random.below(5) {
        0 | 1 => 0,
        2 | 3 => 0xff,
        _ => random.next_u64() as u8,
    };
    (0..length).map(|_| byte(random)).collect()
}

fn tail(number: u64, bytes: usize, random: &mut Random) -> Vec<u8> {
    let mut end = format!("{number:08}").into_bytes();
    end.extend((0..bytes).map(|_| random.next_u64() as u8));
    end
}
