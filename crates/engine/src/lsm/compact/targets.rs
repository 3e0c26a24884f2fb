//! Target sizes of levels.

use crate::lsm::state::version::{KeyspaceLevels, LEVELS};

/// The last level.
const LAST_LEVEL: usize = LEVELS - 1;

/// The target size of each level of a keyspace.
///
/// The last level has the size it has, and each level above it is smaller by the factor, up to the *base*: the first
/// level below level 0 in use. So about `1 / factor` of the data is shadowed by newer entries, however much there is.
/// With fixed sizes counted from the top, a last level that is just begun may be smaller than the one above it, which
/// wastes half of the space. (RocksDB calls this dynamic level bytes.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LevelTargets {
    /// The level into which level 0 is merged.
    pub(crate) base: usize,
    /// Maximum size of each level in bytes; 0 for level 0, unlimited for the last one.
    pub(crate) bytes: [u64; LEVELS],
}

impl LevelTargets {
    /// The targets of a keyspace. `base_bytes` is the maximum size of the base level.
    pub(crate) fn of(levels: &KeyspaceLevels, base_bytes: u64, factor: u64) -> Self {
        let (base_bytes, factor) = (base_bytes.max(1), factor.max(2));
        let mut size = (1..LEVELS).map(|level| levels.bytes(level)).max().unwrap_or(0);
        let first_filled = levels.first_filled().unwrap_or(LAST_LEVEL);
        let mut targets = Self { base: LAST_LEVEL, bytes: [0; LEVELS] };
        targets.bytes[LAST_LEVEL] = u64::MAX;
        while targets.base > 1 && (size > base_bytes || targets.base > first_filled) {
            // Levels that are no longer needed after data shrank are emptied; but with some hysteresis, so that data of
            // about this size does not fill and empty a level in turns.
            let is_needed = size > base_bytes / 2;
            size /= factor;
            targets.base -= 1;
            targets.bytes[targets.base] = if is_needed { size.max(base_bytes) } else { 0 };
        }
        targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::state::version::TableFileMeta;
    use std::sync::Arc;

    const BASE_BYTES: u64 = 256;

    fn sizes(sizes: &[(usize, u64)]) -> KeyspaceLevels {
        let mut levels = KeyspaceLevels::default();
        for &(level, bytes) in sizes {
            let table = TableFileMeta { number: level as u64, bytes, records: 1, ..TableFileMeta::default() };
            levels.add(level, vec![Arc::new(table)]).unwrap();
        }
        levels
    }

    #[test]
    fn the_first_data_go_to_the_last_level() {
        assert_eq!(LevelTargets::of(&sizes(&[]), BASE_BYTES, 10).base, LAST_LEVEL);
        assert_eq!(LevelTargets::of(&sizes(&[(0, 10_000), (LAST_LEVEL, 256)]), BASE_BYTES, 10).base, LAST_LEVEL);
    }

    #[test]
    fn levels_are_added_above_as_the_last_one_grows() {
        let targets = LevelTargets::of(&sizes(&[(LAST_LEVEL, 10_000)]), BASE_BYTES, 10);
        assert_eq!((targets.base, targets.bytes), (4, [0, 0, 0, 0, 256, 1_000, u64::MAX]));
        let targets = LevelTargets::of(&sizes(&[(LAST_LEVEL, u64::MAX / 2)]), BASE_BYTES, 10);
        assert_eq!(targets.base, 1, "however large it is");
    }

    #[test]
    fn nothing_goes_below_a_level_that_has_tables_and_is_not_needed_but_that_is_emptied() {
        let targets = LevelTargets::of(&sizes(&[(4, 20), (LAST_LEVEL, 100)]), BASE_BYTES, 10);
        assert_eq!((targets.base, targets.bytes), (4, [0, 0, 0, 0, 0, 0, u64::MAX]));
        let targets = LevelTargets::of(&sizes(&[(5, 20), (LAST_LEVEL, 200)]), BASE_BYTES, 10);
        assert_eq!((targets.base, targets.bytes[5]), (5, 256), "it has not shrunk by much");
    }
}
