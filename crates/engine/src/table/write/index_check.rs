//! The writer's check that the index of a new table leads to its blocks.
//!
//! While blocks are written, the separators of each group are decoded from their stored form and compared with the keys
//! on both sides of their borders, and a digest of them is kept. When the index is designed, its layers are decoded
//! once more: the bottom layer must have that digest or, where the borders of all blocks are still in memory, must
//! separate all of them; each layer above must separate the index pages of the one below. The check reads nothing from
//! storage, and guarantees that a lookup of the first or last record of a block is led to that block. Line nodes are
//! approximate and checked by the reader, so they are not checked here.
//!
//! A border with the same key on both sides has exactly one valid separator, the least key above it: repeated keys are
//! looked up in the block where they begin.

use crate::table::format::filter::hash_key;
use ogive_model::Fence;
use ogive_model::coded::{CodedLayer, Separator, StringCuts, StringLayer, visit_children, visit_separators};
use ogive_model::step::StepPiece;

/// The result of the check so far: the first defect, or none.
#[derive(Debug, Default)]
pub(in crate::table) struct IndexCheck {
    defect: Option<String>,
    digest: SeparatorDigest,
    /// Separator of the next group, in tables of byte strings.
    next_string: Vec<u8>,
    /// The stored form of a group.
    scratch: Vec<u8>,
}

/// A digest of a sequence of separators. It distinguishes sequences that differ by a mistake, not adversarial ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::table) struct SeparatorDigest {
    separators: u64,
    sum: u64,
}

impl SeparatorDigest {
    /// An odd number of random bits: 2^64 divided by the golden ratio.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

    fn add(&mut self, child: u64, separator: u64) {
        self.separators += 1;
        self.sum = (self.sum ^ separator).wrapping_mul(Self::FACTOR).rotate_left(29).wrapping_add(child);
    }

    fn add_string(&mut self, child: u64, separator: &Separator<'_>) {
        match separator {
            Separator::Whole(bytes) => self.add(child, hash_key(bytes)),
            Separator::Window { prefix, word } => self.add(child, hash_key(prefix) ^ word.rotate_left(1)),
        }
    }
}

impl IndexCheck {
    /// The first defect of the blocks written so far.
    pub(in crate::table) fn defect(&self) -> Option<&str> {
        self.defect.as_deref()
    }

    /// The digest of the separators seen so far.
    pub(in crate::table) fn digest(&self) -> SeparatorDigest {
        self.digest
    }

    fn note_defect(&mut self, detail: impl FnOnce() -> String) {
        self.defect.get_or_insert_with(detail);
    }

    /// Records the result for a group, which must have one separator for each block.
    fn conclude(&mut self, is_sound: bool, group: usize, separators: usize, blocks: usize) {
        if !is_sound || separators != blocks {
            self.note_defect(|| format!("group {group} of the separators does not lead to its {blocks} blocks"));
        }
    }

    /// Checks the first separator of the next group of byte strings, after a block that ends with `low` and before one
    /// that begins with `high`.
    pub(in crate::table) fn next_string(&mut self, separator: &[u8], low: &[u8], high: &[u8]) {
        if !separates(&Separator::Whole(separator), low, high) {
            self.note_defect(|| "a group begins with a separator that lies beyond its border".to_owned());
        }
        self.next_string.clear();
        self.next_string.extend_from_slice(separator);
    }

    /// Checks the last group of `layer`, whose children 1, 2, ... begin at the records `begins`.
    pub(in crate::table) fn strings(&mut self, layer: &StringLayer, begins: &[usize], cuts: &impl StringCuts) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        layer.encode(layer.groups() - 1..layer.groups(), &mut scratch);
        let (mut seen, mut sound) = (0, true);
        let digest = &mut self.digest;
        let next_string = &self.next_string;
        let whole = visit_separators(&scratch, 1, |child, separator| {
            digest.add_string(child, &separator);
            sound &= match usize::checked_sub(seen, 1).map(|before| begins.get(before)) {
                None => separator == Separator::Whole(next_string),
                Some(Some(&begin)) => separates(&separator, cuts.key(begin - 1), cuts.key(begin)),
                Some(None) => false,
            };
            seen += 1;
        });
        self.scratch = scratch;
        self.conclude(whole.is_some() && sound, layer.groups() - 1, seen, begins.len() + 1);
    }

    /// Checks the last group of `layer`, whose children 1, 2, ... begin at the records `begins`; `border` returns the
    /// numeric keys on both sides of a record's beginning.
    pub(in crate::table) fn numbers(
        &mut self,
        layer: &CodedLayer,
        start: u64,
        begins: &[usize],
        border: impl Fn(usize) -> Fence,
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        layer.encode(layer.groups() - 1..layer.groups(), &mut scratch);
        let (mut seen, mut sound) = (0, true);
        let digest = &mut self.digest;
        let whole = visit_children(&scratch, 1, |child, separator| {
            digest.add(child, separator);
            sound &= match usize::checked_sub(seen, 1).map(|before| begins.get(before)) {
                None => separator == start,
                Some(Some(&begin)) => is_between(separator, border(begin)),
                Some(None) => false,
            };
            seen += 1;
        });
        self.scratch = scratch;
        self.conclude(whole.is_some() && sound, layer.groups() - 1, seen, begins.len() + 1);
    }
}

/// Whether a byte-string separator routes `low` to its left and `high` to its right. With two equal keys, the first
/// must be on its left, and everything greater on its right.
fn separates(separator: &Separator<'_>, low: &[u8], high: &[u8]) -> bool {
    if low < high {
        return !separator.leads_right(low) && separator.leads_right(high);
    }
    matches!(separator, Separator::Whole(bytes) if low == high && bytes.split_last() == Some((&0, low)))
}

/// As [`separates`], for a number.
fn is_between(separator: u64, Fence { low, high }: Fence) -> bool {
    if low < high { low < separator && separator <= high } else { low.checked_add(1) == Some(separator) }
}

/// Checks that each node, given by its first child and its separator, separates the children next to it; that the nodes
/// begin with the first child; and that none is missing except those followed only by repeats of the greatest number.
/// With `granule`, nodes are that many children apart.
struct SeparationCheck<'a> {
    fences: &'a [Fence],
    granule: Option<u64>,
    next: u64,
    last: u64,
    sound: bool,
}

impl<'a> SeparationCheck<'a> {
    fn new(fences: &'a [Fence], granule: Option<u64>) -> Self {
        Self { fences, granule, next: 0, last: 0, sound: true }
    }

    fn take(&mut self, child: u64, separator: u64) {
        let follows = match self.granule {
            Some(_) => child == self.next,
            None => child >= self.next && (self.next > 0 || child == 0),
        };
        let border =
            usize::try_from(child).ok().and_then(|child| child.checked_sub(1)).map(|left| self.fences.get(left));
        self.sound &= follows
            && match border {
                None => true,
                Some(Some(&fence)) => is_between(separator, fence) && separator >= self.last,
                Some(None) => false,
            };
        self.last = separator;
        self.next = child.saturating_add(self.granule.unwrap_or(1));
    }

    fn holds(&self) -> bool {
        let children = self.fences.len() as u64 + 1;
        let is_whole = match self.granule {
            // After a border that no number can cross there are only repeats.
            Some(_) => self.next >= children || self.fences[(self.next - 1) as usize].low == u64::MAX,
            None => true,
        };
        self.sound && self.next > 0 && is_whole
    }
}

/// Whether step nodes lead to the children with these fences.
pub(in crate::table) fn steps_lead(pieces: &[StepPiece], fences: &[Fence]) -> bool {
    let mut separated = SeparationCheck::new(fences, None);
    pieces.iter().for_each(|piece| separated.take(piece.first_child, piece.separator));
    separated.holds()
}

/// Whether the stored form of coded nodes leads to every `granule`-th of the children with these fences.
pub(in crate::table) fn coded_lead(stored: &[u8], groups: usize, granule: u64, fences: &[Fence]) -> bool {
    let mut separated = SeparationCheck::new(fences, Some(granule));
    let visited = visit_children(stored, groups, |child, separator| {
        separated.take(child.saturating_mul(granule), separator);
    });
    visited.is_some() && separated.holds()
}

/// The digest of the stored form of coded nodes; `None` if it is malformed.
pub(in crate::table) fn digest_numbers(stored: &[u8], groups: usize) -> Option<SeparatorDigest> {
    let mut digest = SeparatorDigest::default();
    visit_children(stored, groups, |child, separator| digest.add(child, separator))?;
    Some(digest)
}

/// The digest of the stored form of coded strings; `None` if it is malformed.
pub(in crate::table) fn digest_strings(stored: &[u8], groups: usize) -> Option<SeparatorDigest> {
    let mut digest = SeparatorDigest::default();
    visit_separators(stored, groups, |child, separator| digest.add_string(child, &separator))?;
    Some(digest)
}

/// Whether the stored form of coded strings has exactly these separators, in order.
pub(in crate::table) fn strings_are<'a>(
    stored: &[u8],
    groups: usize,
    mut separators: impl Iterator<Item = &'a [u8]>,
) -> bool {
    let (mut sound, mut children) = (true, 0);
    let visited = visit_separators(stored, groups, |child, separator| {
        sound &= child == children && separators.next().is_some_and(|expected| separator == Separator::Whole(expected));
        children += 1;
    });
    visited.is_some() && sound && separators.next().is_none()
}
