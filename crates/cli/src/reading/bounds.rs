//! The two ends of a range of keys.

use std::ops::Bound;

/// The two ends of a range of keys.
pub(crate) type Bounds<K> = (Bound<K>, Bound<K>);

/// The bounds of a range from `from` up to but not including `to`; open at an end that is `None`.
pub(crate) fn bounds<K>(from: Option<K>, to: Option<K>) -> Bounds<K> {
    (from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded))
}
