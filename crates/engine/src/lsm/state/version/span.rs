//! Key spans: ranges of keys with a comparable end.

use super::table::TableFileMeta;
use std::ops::Bound;

/// A key range as given by callers.
pub(crate) type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// A comparable end of a range: whether it has no end, the key, and whether the key is included. A key sorts after a
/// range that ends before it, and no end sorts last.
pub(crate) type SpanEnd<'a> = (bool, &'a [u8], bool);

/// The keys from `smallest` to `largest`, which is included unless it is the end of a range tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySpan {
    pub(crate) smallest: Vec<u8>,
    pub(crate) largest: Vec<u8>,
    /// Whether `largest` is excluded; if it is also empty, the span has no end.
    pub(crate) largest_excluded: bool,
}

impl KeySpan {
    /// The smallest span that covers all `tables`; `None` if there are none.
    pub(crate) fn of<'a>(tables: impl IntoIterator<Item = &'a TableFileMeta>) -> Option<Self> {
        let mut tables = tables.into_iter();
        let first = tables.next()?;
        let (mut smallest, mut largest) = (&first.smallest, first.end());
        for table in tables {
            smallest = smallest.min(&table.smallest);
            largest = largest.max(table.end());
        }
        Some(Self { smallest: smallest.clone(), largest: largest.1.to_vec(), largest_excluded: !largest.2 })
    }

    pub(crate) fn end(&self) -> SpanEnd<'_> {
        end(&self.largest, self.largest_excluded)
    }

    pub(crate) fn bounds(&self) -> KeyBounds<'_> {
        bounds(&self.smallest, &self.largest, self.largest_excluded)
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        overlap(self.bounds(), other.bounds())
    }
}

pub(super) fn bounds<'a>(smallest: &'a [u8], largest: &'a [u8], largest_excluded: bool) -> KeyBounds<'a> {
    let upper = match largest_excluded {
        true if is_endless(largest, true) => Bound::Unbounded,
        true => Bound::Excluded(largest),
        false => Bound::Included(largest),
    };
    (Bound::Included(smallest), upper)
}

/// Whether the range has no end.
pub(super) fn is_endless(largest: &[u8], largest_excluded: bool) -> bool {
    largest_excluded && largest.is_empty()
}

pub(super) fn end(largest: &[u8], largest_excluded: bool) -> SpanEnd<'_> {
    (is_endless(largest, largest_excluded), largest, !largest_excluded)
}

/// Whether two ranges may share a key.
pub(super) fn overlap(one: KeyBounds<'_>, other: KeyBounds<'_>) -> bool {
    !lies_before(one.1, other.0) && !lies_before(other.1, one.0)
}

/// Whether a range ending at `upper` lies before one starting at `lower`.
pub(super) fn lies_before(upper: Bound<&[u8]>, lower: Bound<&[u8]>) -> bool {
    match (upper, lower) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(upper), Bound::Included(lower)) => upper < lower,
        (Bound::Included(upper) | Bound::Excluded(upper), Bound::Included(lower) | Bound::Excluded(lower)) => {
            upper <= lower
        }
    }
}
