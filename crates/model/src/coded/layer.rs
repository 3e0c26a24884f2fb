//! A layer of coded groups in memory, its stored form, and the search in the stored form.
//!
//! Stored form of `n` groups (all integers little-endian):
//!
//! ```text
//! n x { start u64, parameters u64 }            the headers: searched by bisection on `start`
//! ceil(n / 16) x { first_child u40, bits u32 }  where every 16th group begins, in children and in bits of residuals
//! residuals, bit-packed without gaps
//! ```

use super::fit::{Effort, fit_fences};
use super::group::GroupHeader;
use crate::Fence;
use crate::bits::{self, BitWriter};

/// Stored size of a group without its residuals and its share of the checkpoints.
pub const GROUP_BYTES: usize = 16;
/// Number of groups between checkpoints: a lookup adds up at most this many headers.
const CHECKPOINT_GROUPS: usize = 16;
const CHECKPOINT_BYTES: usize = 9;

/// One group with its residuals.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CodedLayerGroup {
    header: GroupHeader,
    first_child: u64,
    residuals: Vec<u64>,
}

/// A layer of coded groups over all children, or over every `granule`-th.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodedLayer {
    groups: Vec<CodedLayerGroup>,
    children: u64,
    residual_bits: u64,
}

impl CodedLayer {
    /// Creates a layer without children.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a group; its first child follows the last child of the layer.
    pub fn push(&mut self, header: GroupHeader, residuals: Vec<u64>) {
        self.residual_bits += header.residual_bits();
        self.groups.push(CodedLayerGroup { header, first_child: self.children, residuals });
        self.children += u64::from(header.count);
    }

    /// Appends the groups of a layer over the following children.
    pub fn append(&mut self, other: Self) {
        for group in other.groups {
            self.push(group.header, group.residuals);
        }
    }

    /// Number of children that the layer leads to, in granules.
    pub fn children(&self) -> u64 {
        self.children
    }

    /// Approximate memory use in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<CodedLayerGroup>() + self.children as usize * size_of::<u64>()
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Separator of a group's first child.
    pub fn start(&self, group: usize) -> u64 {
        self.groups[group].header.start
    }

    /// First child of a group, in granules.
    pub fn first_child(&self, group: usize) -> u64 {
        self.groups[group].first_child
    }

    /// Stored size of the groups in `range`.
    pub fn encoded_len(&self, range: std::ops::Range<usize>) -> usize {
        let bits: u64 = self.groups[range.clone()].iter().map(|group| group.header.residual_bits()).sum();
        stored_bytes(range.len(), bits)
    }

    /// Stored size of the whole layer in one piece.
    pub fn total_len(&self) -> usize {
        stored_bytes(self.groups.len(), self.residual_bits)
    }

    /// Splits the layer into runs of groups that take at most `room` stored bytes each. A larger group gets a run of
    /// its own; the caller prevents this with a `room` of at least [`Self::largest_group_len`].
    pub fn pack(&self, room: usize) -> Vec<std::ops::Range<usize>> {
        let mut runs = Vec::new();
        let (mut first, mut bits) = (0, 0);
        for (i, group) in self.groups.iter().enumerate() {
            let grown = bits + group.header.residual_bits();
            if i > first && stored_bytes(i + 1 - first, grown) > room {
                runs.push(first..i);
                first = i;
                bits = 0;
            }
            bits += group.header.residual_bits();
        }
        if first < self.groups.len() {
            runs.push(first..self.groups.len());
        }
        runs
    }

    /// Stored size of the largest group.
    pub fn largest_group_len(&self) -> usize {
        self.groups.iter().map(|group| stored_bytes(1, group.header.residual_bits())).max().unwrap_or(0)
    }

    /// Splits groups until none takes more than `room` stored bytes, so that each fits a page.
    pub fn limit_groups(self, room: usize) -> Self {
        if self.largest_group_len() <= room {
            return self;
        }
        let mut limited = Self::new();
        for group in self.groups {
            let header = group.header;
            if stored_bytes(1, header.residual_bits()) <= room {
                limited.push(header, group.residuals);
                continue;
            }
            let spare = room.saturating_sub(stored_bytes(1, 0)) as u64 * 8;
            let most = (spare / u64::from(header.width.max(1))) as u32 + 1;
            let separators: Vec<u64> = std::iter::once(header.start)
                .chain(group.residuals.iter().zip(1..).map(|(&residual, j)| header.separator(j, residual)))
                .collect();
            for part in separators.chunks(most as usize) {
                limited.push_limited(part, room);
            }
        }
        limited
    }

    /// Appends groups of at most `room` stored bytes that code exactly these separators. Their residuals may be wider
    /// than those of the group that they come from: its separators were chosen to need no low bits on its own line.
    fn push_limited(&mut self, separators: &[u64], room: usize) {
        let mut part = Self::new();
        part.push_exact(separators);
        if part.largest_group_len() <= room || separators.len() == 1 {
            self.append(part);
            return;
        }
        let (left, right) = separators.split_at(separators.len() / 2);
        self.push_limited(left, room);
        self.push_limited(right, room);
    }

    /// Appends groups that code exactly these separators.
    fn push_exact(&mut self, separators: &[u64]) {
        let mut rest = separators;
        while let Some((&start, tail)) = rest.split_first() {
            let fences: Vec<Fence> = tail.iter().map(|&s| Fence { low: s.wrapping_sub(1), high: s }).collect();
            let (header, residuals) = fit_fences(start, &fences, 1, Effort::Quick);
            rest = &rest[header.count as usize..];
            self.push(header, residuals);
        }
    }

    /// The stored form of the groups in `range`.
    pub fn encode(&self, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        let groups = &self.groups[range];
        for group in groups {
            out.extend_from_slice(&group.header.start.to_le_bytes());
            out.extend_from_slice(&group.header.pack().to_le_bytes());
        }
        let mut bits = BitWriter::new();
        for (i, group) in groups.iter().enumerate() {
            if i % CHECKPOINT_GROUPS == 0 {
                out.extend_from_slice(&group.first_child.to_le_bytes()[..5]);
                out.extend_from_slice(&(bits.bit_len() as u32).to_le_bytes());
            }
            for &residual in &group.residuals {
                bits.push(residual, group.header.width);
            }
        }
        out.extend_from_slice(bits.as_bytes());
    }
}

fn stored_bytes(groups: usize, residual_bits: u64) -> usize {
    groups * GROUP_BYTES + groups.div_ceil(CHECKPOINT_GROUPS) * CHECKPOINT_BYTES + residual_bits.div_ceil(8) as usize
}

/// Codes the separators of every `granule`-th of `fences.len() + 1` children, the first of which begins with separator
/// `start`. Children after a fence that no key can cross are omitted: they hold only repeats.
pub fn encode_row(start: u64, fences: &[Fence], granule: usize, effort: Effort) -> CodedLayer {
    let granule = granule.max(1);
    let mut layer = CodedLayer::new();
    let (mut start, mut rest) = (start, fences);
    loop {
        let (header, residuals) = fit_fences(start, rest, granule, effort);
        layer.push(header, residuals);
        let used = header.count as usize * granule;
        if used > rest.len() {
            return layer;
        }
        let border = rest[used - 1];
        start = if border.separates() {
            border.high
        } else if border.low < u64::MAX {
            border.low + 1
        } else {
            return layer;
        };
        rest = &rest[used..];
    }
}

fn word(payload: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(payload.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn header(payload: &[u8], group: usize) -> Option<GroupHeader> {
    let at = group.checked_mul(GROUP_BYTES)?;
    GroupHeader::unpack(word(payload, at)?, word(payload, at + 8)?)
}

/// A group of a stored layer, located for a search in place.
struct LocatedGroup {
    header: GroupHeader,
    first_child: u64,
    bits: u64,
    residuals_at: usize,
}

fn locate(payload: &[u8], groups: usize, group: usize) -> Option<LocatedGroup> {
    let headers = groups.checked_mul(GROUP_BYTES)?;
    let checkpoint = group / CHECKPOINT_GROUPS;
    let at = headers.checked_add(checkpoint * CHECKPOINT_BYTES)?;
    let stored = payload.get(at..at.checked_add(CHECKPOINT_BYTES)?)?;
    let mut child = [0_u8; 8];
    child[..5].copy_from_slice(&stored[..5]);
    let mut first_child = u64::from_le_bytes(child);
    let mut bits = u64::from(u32::from_le_bytes(stored[5..].try_into().ok()?));
    for before in checkpoint * CHECKPOINT_GROUPS..group {
        let header = header(payload, before)?;
        first_child += u64::from(header.count);
        bits += header.residual_bits();
    }
    let residuals_at = headers.checked_add(groups.div_ceil(CHECKPOINT_GROUPS).checked_mul(CHECKPOINT_BYTES)?)?;
    Some(LocatedGroup { header: header(payload, group)?, first_child, bits, residuals_at })
}

impl LocatedGroup {
    fn separator(&self, payload: &[u8], j: u32) -> Option<u64> {
        if j == 0 {
            return Some(self.header.start);
        }
        let at = self.bits + u64::from(j - 1) * u64::from(self.header.width);
        let residual = bits::read(payload.get(self.residuals_at..)?, at, self.header.width)?;
        Some(self.header.separator(j, residual))
    }
}

/// The child, in granules, that holds key `x` if it is present: the last whose separator is at most `x`, or the first.
/// Searches the stored form of `groups` groups in place; `None` if it is malformed.
pub fn search(payload: &[u8], groups: usize, x: u64) -> Option<u64> {
    if groups == 0 || payload.len() / GROUP_BYTES < groups {
        return None;
    }
    let (mut low, mut high) = (0, groups - 1);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if word(payload, middle * GROUP_BYTES)? <= x {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let located = locate(payload, groups, low)?;
    let (mut first, mut last) = (0, located.header.count - 1);
    while first < last {
        let middle = first + (last - first).div_ceil(2);
        if located.separator(payload, middle)? <= x {
            first = middle;
        } else {
            last = middle - 1;
        }
    }
    Some(located.first_child + u64::from(first))
}

/// Stored length in bytes of the `groups` groups at the beginning of `stored`, and the number of children that they
/// lead to; `None` if `stored` is shorter or malformed.
pub fn stored_len(stored: &[u8], groups: usize) -> Option<(usize, u64)> {
    let last = locate(stored, groups, groups.checked_sub(1)?)?;
    let bits = last.bits.checked_add(last.header.residual_bits())?;
    let length = last.residuals_at.checked_add(usize::try_from(bits.div_ceil(8)).ok()?)?;
    (length <= stored.len()).then_some((length, last.first_child.checked_add(u64::from(last.header.count))?))
}

/// Visits the separator of each child (in granules) of a stored run of groups, in order. `None` if it is malformed,
/// possibly after some visits.
pub fn visit_children(payload: &[u8], groups: usize, mut visit: impl FnMut(u64, u64)) -> Option<()> {
    if groups == 0 {
        return Some(());
    }
    let LocatedGroup { mut first_child, mut bits, residuals_at, .. } = locate(payload, groups, 0)?;
    for group in 0..groups {
        let located = LocatedGroup { header: header(payload, group)?, first_child, bits, residuals_at };
        for j in 0..located.header.count {
            visit(first_child.checked_add(u64::from(j))?, located.separator(payload, j)?);
        }
        first_child = first_child.checked_add(u64::from(located.header.count))?;
        bits += located.header.residual_bits();
    }
    Some(())
}

/// A group of a stored layer, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedGroup {
    /// The line, and the form of the residuals.
    pub header: GroupHeader,
    /// Number of the first child, in granules.
    pub first_child: u64,
    /// The residuals of all children but the first.
    pub residuals: Vec<u64>,
}

impl DecodedGroup {
    /// The separators of all children.
    pub fn separators(&self) -> impl Iterator<Item = u64> {
        let others = self.residuals.iter().zip(1..).map(|(&residual, j)| self.header.separator(j, residual));
        std::iter::once(self.header.start).chain(others)
    }
}

/// Visits the groups of a stored run, in order, decoded. `None` if it is malformed, possibly after some visits.
pub fn visit_groups(payload: &[u8], groups: usize, mut visit: impl FnMut(DecodedGroup)) -> Option<()> {
    if groups == 0 {
        return Some(());
    }
    let LocatedGroup { mut first_child, mut bits, residuals_at, .. } = locate(payload, groups, 0)?;
    let stored = payload.get(residuals_at..)?;
    for group in 0..groups {
        let header = header(payload, group)?;
        let residual = |j: u32| bits::read(stored, bits + u64::from(j - 1) * u64::from(header.width), header.width);
        let residuals = (1..header.count).map(residual).collect::<Option<Vec<_>>>()?;
        visit(DecodedGroup { header, first_child, residuals });
        first_child = first_child.checked_add(u64::from(header.count))?;
        bits += header.residual_bits();
    }
    Some(())
}

/// The separator of child `child` (in granules); `None` if there is no such child or the stored form is malformed.
pub fn separator_at(payload: &[u8], groups: usize, child: u64) -> Option<u64> {
    let (mut low, mut high) = (0, groups.div_ceil(CHECKPOINT_GROUPS).checked_sub(1)?);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if locate(payload, groups, middle * CHECKPOINT_GROUPS)?.first_child <= child {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    for group in low * CHECKPOINT_GROUPS..groups {
        let located = locate(payload, groups, group)?;
        let j = child.checked_sub(located.first_child)?;
        if j < u64::from(located.header.count) {
            return located.separator(payload, j as u32);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed ^ (*seed >> 29)
    }

    /// Fences between children whose keys lie in clusters: gaps of all sizes, within which a separator is free.
    fn clustered(seed: &mut u64, children: usize) -> Vec<Fence> {
        let mut key = random(seed) >> 20;
        let spread = 1 + random(seed) % 44;
        (0..children)
            .map(|_| {
                let low = key + (random(seed) >> (64 - spread));
                let high = low + 1 + (random(seed) >> (20 + random(seed) % 44));
                key = high;
                Fence { low, high }
            })
            .collect()
    }

    fn separators(layer: &CodedLayer) -> Vec<u64> {
        let (mut stored, mut found) = (Vec::new(), Vec::new());
        layer.encode(0..layer.groups(), &mut stored);
        visit_children(&stored, layer.groups(), |_, separator| found.push(separator)).unwrap();
        found
    }

    #[test]
    fn decoded_groups_have_the_separators_of_their_children() {
        let mut seed = 3;
        for _ in 0..50 {
            let fences = clustered(&mut seed, 700);
            let layer = encode_row(fences[0].low / 2, &fences, 1, Effort::Full);
            let (mut stored, mut found) = (Vec::new(), Vec::new());
            layer.encode(0..layer.groups(), &mut stored);
            visit_groups(&stored, layer.groups(), |group| {
                assert_eq!(group.first_child, found.len() as u64);
                found.extend(group.separators());
            })
            .unwrap();
            assert_eq!(found, separators(&layer));
            assert_eq!(visit_groups(&stored[..stored.len() - 1], layer.groups(), |_| {}), None);
        }
    }

    #[test]
    fn limited_groups_fit_and_code_the_same_separators() {
        let mut seed = 1;
        for round in 0..400 {
            let fences = clustered(&mut seed, 300);
            let layer = encode_row(fences[0].low / 2, &fences, 1, Effort::Full);
            let expected = separators(&layer);
            for room in [34, 60, 128, 488] {
                let limited = layer.clone().limit_groups(room);
                let largest = limited.largest_group_len();
                assert!(largest <= room, "round {round}: a group of {largest} bytes, of {room}");
                assert_eq!(separators(&limited), expected, "round {round}, {room} bytes");
            }
        }
    }
}
