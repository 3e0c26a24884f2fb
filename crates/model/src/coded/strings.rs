//! Coded step nodes over byte strings: groups that code separators in an eight-byte window, or front-coded.
//!
//! ```text
//! stored form of n groups:   n x { first_child u40, body u32 }   where each group begins
//!                            n x body
//! body:                      length of the first separator (varint), its bytes, mode u8, then
//!   mode 0, front-coded:     for each further child { dropped and added bytes, added bytes }
//!   mode 1, window:          common prefix (shared with the first separator, rest), a numeric group over the
//!                            eight bytes after that prefix, its residuals
//! ```
//!
//! A separator is the shortest string that distinguishes the two children; if the writer may choose, a child ends at
//! the border with the cheapest separator. The node is exact, like its numeric counterpart.

use super::fit::{Cuts, Effort, fit_flexible};
use super::group::GroupHeader;
use crate::bits::{self, BitWriter};
use std::cmp::Ordering;
use std::ops::Range;

/// Largest number of children in a front-coded group: a lookup scans half of them, and each group costs a full
/// separator.
const FRONT_GROUP_CHILDREN_MAX: usize = 96;
/// Size at which a front-coded group ends, so that it fits a page of 4 KiB unless a single key is longer.
const FRONT_GROUP_BYTES_MAX: usize = 3 << 10;
/// Distances in children over which a common prefix is tried for a window.
const WINDOW_HORIZON_CHILDREN: [usize; 3] = [16, 48, 128];
const DIRECTORY_BYTES: usize = 9;
const MODE_FRONT: u8 = 0;
const MODE_WINDOW: u8 = 1;
/// In a byte of two nibbles, the nibble that announces a varint.
const LENGTH_ESCAPE: usize = 15;

/// Byte-string records that are still to be cut into children; see [`Cuts`].
pub trait StringCuts {
    /// See [`Cuts::ends`].
    fn ends(&self, begin: usize) -> Option<(usize, usize)>;
    /// Key of a record.
    fn key(&self, record: usize) -> &[u8];
    /// See [`Cuts::ahead`].
    fn ahead(&self, begin: usize, children: usize) -> Option<usize>;
}

/// A group, and the records at which its children 1 to count - 1 begin.
#[derive(Clone, Debug)]
pub struct StringGroup {
    first: Vec<u8>,
    body: Vec<u8>,
    count: usize,
    /// First records of children 1 to count - 1.
    pub begins: Vec<usize>,
}

impl StringGroup {
    fn bytes_per_record(&self, begin: usize, end: usize) -> f64 {
        (self.first.len() + self.body.len() + DIRECTORY_BYTES + 1) as f64 / (end - begin).max(1) as f64
    }
}

/// Length of the longest common prefix.
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).take_while(|(x, y)| x == y).count();
    let rest = (a.iter().skip(8 * words)).zip(b.iter().skip(8 * words));
    8 * words + rest.take_while(|(x, y)| x == y).count()
}

/// The shortest string greater than `low` and at most `high`; greater than both if they are equal, so that repeats stay
/// on the left.
pub fn shortest_separator(low: &[u8], high: &[u8]) -> Vec<u8> {
    let shared = common_prefix(low, high);
    match high.get(..=shared) {
        Some(prefix) => prefix.to_vec(),
        None => [high, &[0]].concat(),
    }
}

/// The eight bytes after `skip` as a big-endian number, padded with zeros.
fn window(key: &[u8], skip: usize) -> u64 {
    let mut bytes = [0; 8];
    let tail = key.get(skip..).unwrap_or_default();
    let length = tail.len().min(8);
    bytes[..length].copy_from_slice(&tail[..length]);
    u64::from_be_bytes(bytes)
}

/// Of the borders `first..=last`, the one whose separator adds the fewest bytes to `before`; the latest of equals.
pub fn cheapest_border(before: &[u8], first: usize, last: usize, cuts: &impl StringCuts) -> (usize, Vec<u8>) {
    let mut best = (usize::MAX, last, Vec::new());
    for end in (first..=last).rev() {
        let separator = shortest_separator(cuts.key(end - 1), cuts.key(end));
        let cost = separator.len() - common_prefix(before, &separator);
        if cost < best.0 {
            best = (cost, end, separator);
        }
    }
    (best.1, best.2)
}

/// Codes the cheaper of a window group and a front-coded group of children that begin at record `begin` with separator
/// `first`.
pub fn fit_strings(first: Vec<u8>, begin: usize, cuts: &impl StringCuts, most: usize) -> StringGroup {
    let mut best = fit_front(first, begin, cuts, most);
    let mut best_cost = best.bytes_per_record(begin, best.begins.last().copied().unwrap_or(begin + 1));
    for horizon in WINDOW_HORIZON_CHILDREN {
        let Some(group) = fit_window(&best.first, begin, cuts, horizon.min(most)) else { continue };
        let cost = group.bytes_per_record(begin, group.begins.last().copied().unwrap_or(begin + 1));
        if cost < best_cost {
            (best, best_cost) = (group, cost);
        }
    }
    best
}

fn fit_front(first: Vec<u8>, begin: usize, cuts: &impl StringCuts, most: usize) -> StringGroup {
    let mut group = StringGroup { body: vec![MODE_FRONT], count: 1, begins: Vec::new(), first };
    let mut before = group.first.clone();
    let mut at = begin;
    while group.count < most.min(FRONT_GROUP_CHILDREN_MAX)
        && group.first.len() + group.body.len() < FRONT_GROUP_BYTES_MAX
    {
        let Some((earliest, latest)) = cuts.ends(at) else { break };
        let (end, separator) = cheapest_border(&before, earliest, latest, cuts);
        push_front(&mut group.body, &before, &separator);
        group.count += 1;
        group.begins.push(end);
        (before, at) = (separator, end);
    }
    group
}

/// The numeric view of keys with a common prefix.
struct WindowCuts<'a, C> {
    cuts: &'a C,
    skip: usize,
}

impl<C: StringCuts> Cuts for WindowCuts<'_, C> {
    fn ends(&self, begin: usize) -> Option<(usize, usize)> {
        let (first, last) = self.cuts.ends(begin)?;
        // Different keys with equal windows cannot be distinguished here: the group ends, and the next one uses another
        // prefix.
        (self.key_as_u64(first - 1) < self.key_as_u64(last)).then_some((first, last))
    }

    fn key_as_u64(&self, record: usize) -> u64 {
        window(self.cuts.key(record), self.skip)
    }

    fn ahead(&self, begin: usize, children: usize) -> Option<usize> {
        self.cuts.ahead(begin, children)
    }
}

fn fit_window(first: &[u8], begin: usize, cuts: &impl StringCuts, horizon: usize) -> Option<StringGroup> {
    // One child more than the group may have, because a child may end before or after its expected end.
    let reach = cuts.ahead(begin, horizon + 1)?;
    let (low, high) = (cuts.key(begin), cuts.key(reach));
    let skip = common_prefix(low, high);
    let bounded = Bounded { cuts, reach };
    let numeric = WindowCuts { cuts: &bounded, skip };
    let start = window(low, skip);
    let fitted = fit_flexible(start, begin, &numeric, horizon, Effort::Full);
    if fitted.header.count < 2 {
        return None;
    }
    let mut body = vec![MODE_WINDOW];
    let shared = common_prefix(first, &low[..skip]);
    push_varint(&mut body, shared);
    push_varint(&mut body, skip - shared);
    body.extend_from_slice(&low[shared..skip]);
    body.extend_from_slice(&start.to_le_bytes());
    body.extend_from_slice(&fitted.header.pack().to_le_bytes());
    let mut packed = BitWriter::new();
    for &residual in &fitted.residuals {
        packed.push(residual, fitted.header.width);
    }
    body.extend_from_slice(packed.as_bytes());
    Some(StringGroup { first: first.to_vec(), body, count: fitted.header.count as usize, begins: fitted.begins })
}

/// Records up to `reach`, all of which share the chosen prefix.
struct Bounded<'a, C> {
    cuts: &'a C,
    reach: usize,
}

impl<C: StringCuts> StringCuts for Bounded<'_, C> {
    fn ends(&self, begin: usize) -> Option<(usize, usize)> {
        self.cuts.ends(begin).filter(|&(_, last)| last <= self.reach)
    }

    fn key(&self, record: usize) -> &[u8] {
        self.cuts.key(record)
    }

    fn ahead(&self, begin: usize, children: usize) -> Option<usize> {
        self.cuts.ahead(begin, children).filter(|&record| record <= self.reach)
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The unread part of a body.
struct BodyReader<'a>(&'a [u8]);

impl<'a> BodyReader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn varint(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

fn push_front(body: &mut Vec<u8>, before: &[u8], separator: &[u8]) {
    let shared = common_prefix(before, separator);
    let (dropped, added) = (before.len() - shared, separator.len() - shared);
    body.push((dropped.min(LENGTH_ESCAPE) << 4 | added.min(LENGTH_ESCAPE)) as u8);
    for count in [dropped, added] {
        if count >= LENGTH_ESCAPE {
            push_varint(body, count - LENGTH_ESCAPE);
        }
    }
    body.extend_from_slice(&separator[shared..]);
}

fn read_front<'a>(reader: &mut BodyReader<'a>) -> Option<(usize, &'a [u8])> {
    let byte = usize::from(reader.byte()?);
    let (mut dropped, mut added) = (byte >> 4, byte & 15);
    for count in [&mut dropped, &mut added] {
        if *count == LENGTH_ESCAPE {
            *count += reader.varint()?;
        }
    }
    Some((dropped, reader.take(added)?))
}

/// A layer of groups of byte-string separators.
#[derive(Clone, Debug, Default)]
pub struct StringLayer {
    groups: Vec<(u64, StringGroup)>,
    children: u64,
    bytes: usize,
}

impl StringLayer {
    /// Creates a layer without children.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a layer that codes exactly these separators, one for each child.
    pub fn from_separators(separators: &[Vec<u8>]) -> Self {
        let mut layer = Self::new();
        let mut rest = separators;
        while let Some((first, tail)) = rest.split_first() {
            let mut group = StringGroup { body: vec![MODE_FRONT], count: 1, begins: Vec::new(), first: first.clone() };
            for separator in tail.iter().take(FRONT_GROUP_CHILDREN_MAX - 1) {
                if group.first.len() + group.body.len() >= FRONT_GROUP_BYTES_MAX {
                    break;
                }
                push_front(&mut group.body, &rest[group.count - 1], separator);
                group.count += 1;
            }
            rest = &rest[group.count..];
            layer.push(group);
        }
        layer
    }

    /// Appends a group; its first child follows the last child of the layer.
    pub fn push(&mut self, mut group: StringGroup) {
        group.begins = Vec::new();
        self.bytes += stored_len(&group);
        let count = group.count as u64;
        self.groups.push((self.children, group));
        self.children += count;
    }

    /// Approximate memory use in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<(u64, StringGroup)>() + 2 * self.bytes
    }

    /// Number of children that the layer leads to.
    pub fn children(&self) -> u64 {
        self.children
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Separator of a group's first child.
    pub fn start(&self, group: usize) -> &[u8] {
        &self.groups[group].1.first
    }

    /// First child after the groups before `group`.
    pub fn first_child_after(&self, group: usize) -> u64 {
        self.groups.get(group).map_or(self.children, |(first_child, _)| *first_child)
    }

    /// Stored size of the whole layer in one piece.
    pub fn total_len(&self) -> usize {
        self.bytes
    }

    /// Stored size of the groups in `range`.
    pub fn encoded_len(&self, range: Range<usize>) -> usize {
        self.groups[range].iter().map(|(_, group)| stored_len(group)).sum()
    }

    /// Stored size of the largest group.
    pub fn largest_group_len(&self) -> usize {
        self.groups.iter().map(|(_, group)| stored_len(group)).max().unwrap_or(0)
    }

    /// Splits the layer into runs of groups of at most `room` stored bytes each; a larger group gets a run of its own.
    pub fn pack(&self, room: usize) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let (mut first, mut bytes) = (0, 0);
        for (i, (_, group)) in self.groups.iter().enumerate() {
            if i > first && bytes + stored_len(group) > room {
                runs.push(first..i);
                (first, bytes) = (i, 0);
            }
            bytes += stored_len(group);
        }
        if first < self.groups.len() {
            runs.push(first..self.groups.len());
        }
        runs
    }

    /// The stored form of the groups in `range`.
    pub fn encode(&self, range: Range<usize>, out: &mut Vec<u8>) {
        let groups = &self.groups[range];
        let mut at = 0_u32;
        for (first_child, group) in groups {
            out.extend_from_slice(&first_child.to_le_bytes()[..5]);
            out.extend_from_slice(&at.to_le_bytes());
            at += (stored_len(group) - DIRECTORY_BYTES) as u32;
        }
        for (_, group) in groups {
            push_varint(out, group.first.len());
            out.extend_from_slice(&group.first);
            out.extend_from_slice(&group.body);
        }
    }
}

fn varint_len(value: usize) -> usize {
    (usize::BITS - value.max(1).leading_zeros()).div_ceil(7) as usize
}

fn stored_len(group: &StringGroup) -> usize {
    DIRECTORY_BYTES + varint_len(group.first.len()) + group.first.len() + group.body.len()
}

/// First child, first separator, and the rest of a stored group.
fn locate(payload: &[u8], groups: usize, group: usize) -> Option<(u64, &[u8], BodyReader<'_>)> {
    let entry = |i: usize| {
        let at = i.checked_mul(DIRECTORY_BYTES)?;
        payload.get(at..at.checked_add(DIRECTORY_BYTES)?)
    };
    let bodies = payload.get(groups.checked_mul(DIRECTORY_BYTES)?..)?;
    let begin = |entry: &[u8]| Some(u32::from_le_bytes(entry.get(5..)?.try_into().ok()?) as usize);
    let stored = entry(group)?;
    let mut child = [0; 8];
    child[..5].copy_from_slice(&stored[..5]);
    let end = if group + 1 < groups { begin(entry(group + 1)?)? } else { bodies.len() };
    let mut reader = BodyReader(bodies.get(begin(stored)?..end)?);
    let length = reader.varint()?;
    let first = reader.take(length)?;
    Some((u64::from_le_bytes(child), first, reader))
}

/// The first separator of a stored run of groups.
pub fn first_string(payload: &[u8], groups: usize) -> Option<&[u8]> {
    locate(payload, groups, 0).map(|(_, first, _)| first)
}

/// The child that holds `key` if it is present. Searches the stored form of `groups` groups in place; `None` if it is
/// malformed.
pub fn search_strings(payload: &[u8], groups: usize, key: &[u8]) -> Option<u64> {
    let (mut low, mut high) = (0, groups.checked_sub(1)?);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if locate(payload, groups, middle)?.1 <= key {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let (first_child, first, mut reader) = locate(payload, groups, low)?;
    let last = match groups > low + 1 {
        true => locate(payload, groups, low + 1)?.0.checked_sub(first_child)?.checked_sub(1)?,
        false => u64::MAX,
    };
    let inner = match reader.byte()? {
        _ if key < first => 0,
        MODE_FRONT => search_front(first, &mut reader, key)?,
        MODE_WINDOW => search_window(first, &mut reader, key)?,
        _ => return None,
    };
    Some(first_child + inner.min(last))
}

/// A separator of a stored group, as compared with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator<'a> {
    /// A key is right of it if it is not less, compared in full.
    Whole(&'a [u8]),
    /// A key is right of it if its prefix is greater, or if its prefix is equal and the following eight bytes, padded
    /// with zeros, are not less.
    Window {
        /// The common prefix of the group's keys.
        prefix: &'a [u8],
        /// The eight bytes, big-endian.
        word: u64,
    },
}

impl Separator<'_> {
    /// Whether a key belongs to the separator's child or a later one, rather than an earlier one.
    pub fn leads_right(&self, key: &[u8]) -> bool {
        match self {
            Self::Whole(bytes) => *bytes <= key,
            Self::Window { prefix, word } => {
                let head = key.get(..prefix.len()).unwrap_or(key);
                head > *prefix || head == *prefix && *word <= window(key, prefix.len())
            }
        }
    }
}

/// Visits the separator of each child of a stored run of groups, in order. `None` if it is malformed, possibly after
/// some visits.
pub fn visit_separators(payload: &[u8], groups: usize, mut visit: impl FnMut(u64, Separator<'_>)) -> Option<()> {
    for group in 0..groups {
        let (mut child, first, mut reader) = locate(payload, groups, group)?;
        visit(child, Separator::Whole(first));
        match reader.byte()? {
            MODE_FRONT => {
                let mut separator = first.to_vec();
                while !reader.0.is_empty() {
                    let (dropped, added) = read_front(&mut reader)?;
                    separator.truncate(separator.len().checked_sub(dropped)?);
                    separator.extend_from_slice(added);
                    child += 1;
                    visit(child, Separator::Whole(&separator));
                }
            }
            MODE_WINDOW => {
                let shared = reader.varint()?;
                let rest_length = reader.varint()?;
                let prefix = [first.get(..shared)?, reader.take(rest_length)?].concat();
                let header = GroupHeader::unpack(reader.word()?, reader.word()?)?;
                for j in 1..header.count {
                    let residual = bits::read(reader.0, u64::from(j - 1) * u64::from(header.width), header.width)?;
                    child += 1;
                    visit(child, Separator::Window { prefix: &prefix, word: header.separator(j, residual) });
                }
            }
            _ => return None,
        }
    }
    Some(())
}

/// Checks a stored run of front-coded groups in time proportional to its bytes: separators ascend (neighbours may be
/// equal), each shares the longest possible prefix with the one before, and children are numbered from 0 without gaps.
/// Returns the number of children, or `None` otherwise.
pub fn check_front_coded(payload: &[u8], groups: usize) -> Option<u64> {
    let mut children = 0;
    let mut separator = Vec::new();
    for group in 0..groups {
        let (child, first, mut reader) = locate(payload, groups, group)?;
        if child != children || separator.as_slice() > first || reader.byte()? != MODE_FRONT {
            return None;
        }
        first.clone_into(&mut separator);
        children += 1;
        while !reader.0.is_empty() {
            let (dropped, added) = read_front(&mut reader)?;
            let kept = separator.len().checked_sub(dropped)?;
            // Something was dropped: the byte in its place must be greater.
            if dropped > 0 && *added.first()? <= separator[kept] {
                return None;
            }
            separator.truncate(kept);
            separator.extend_from_slice(added);
            children += 1;
        }
    }
    Some(children)
}

/// Scans front-coded separators without decoding them: only the length of the prefix that the current one shares with
/// the key is kept. A next separator that keeps more than this prefix compares as the current one did; one that keeps
/// less is greater than the key, because separators ascend.
fn search_front(first: &[u8], reader: &mut BodyReader<'_>, key: &[u8]) -> Option<u64> {
    let mut matched = common_prefix(first, key);
    let mut length = first.len();
    let mut child = 0;
    while !reader.0.is_empty() {
        let (dropped, added) = read_front(reader)?;
        let kept = length.checked_sub(dropped)?;
        match kept.cmp(&matched) {
            Ordering::Less => break,
            Ordering::Equal => {
                let rest = key.get(matched..)?;
                let same = common_prefix(added, rest);
                if same < added.len() && (same == rest.len() || added[same] > rest[same]) {
                    break;
                }
                matched += same;
            }
            Ordering::Greater => {}
        }
        length = kept + added.len();
        child += 1;
    }
    Some(child)
}

fn search_window(first: &[u8], reader: &mut BodyReader<'_>, key: &[u8]) -> Option<u64> {
    let shared = reader.varint()?;
    let rest_length = reader.varint()?;
    let rest = reader.take(rest_length)?;
    let prefix = first.get(..shared)?;
    let skip = shared.checked_add(rest_length)?;
    let header = GroupHeader::unpack(reader.word()?, reader.word()?)?;
    let ordering = key.get(..skip.min(key.len()))?.iter().cmp(prefix.iter().chain(rest)).then(if key.len() < skip {
        Ordering::Less
    } else {
        Ordering::Equal
    });
    match ordering {
        Ordering::Less => return Some(0),
        Ordering::Greater => return Some(u64::from(header.count - 1)),
        Ordering::Equal => {}
    }
    let x = window(key, skip);
    let (mut low, mut high) = (0, header.count - 1);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let residual = bits::read(reader.0, u64::from(middle - 1) * u64::from(header.width), header.width)?;
        if header.separator(middle, residual) <= x {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(u64::from(low))
}
