//! Key sets of given hardness: the number of segments of the optimal piecewise linear approximation per million keys,
//! at error 32 (local hardness) and at error 4096 (global hardness).
//!
//! The hardness of a key set is defined so in Wongkham et al., "Are Updatable Learned Indexes Ready?", VLDB 2022; AULID
//! (Section 5.3) generates sets of 800 million keys with that of real ones. Here it is built in rather than searched
//! for:
//!
//! ```text
//!  rank                      . ...     local piece: evenly spaced keys, spacing g, each moved by less than g
//!   |                  . ...           local jump: so wide that no line within 32 ranks crosses it
//!   |   . ...    . ...                 global piece: equal local pieces and jumps, a staircase within 4096 of a line
//!   |...                               global jump: so wide that no line within 4096 ranks crosses it
//!   +----------------------------- key
//! ```
//!
//! A line that keeps within e ranks of a piece of m keys and width w rises by at least (m - 1 - 2 e) / w. To reach the
//! next key it may rise by 2 e + 1 at most. So a jump wider than (2 e + 1) w / (m - 1 - 2 e) ends its segment; jumps
//! here are twice as wide. An approximation by segments that start at a piece's first key then has exactly one a piece.

use super::source::{Counted, Source};
use super::spec::Plan;
use crate::error::{Error, Result};
use crate::random::Random;

/// A set as hard as COVID of Lan et al., and as the COVID800 of AULID, Section 5.3, which has four times its segments.
///
/// This and the others here are from the segments at errors 16 to 1,024 in Table 3 of "Updatable Learned Indexes Meet
/// Disk-Resident DBMS" (SIGMOD 2023): those at 32 lie between, and those at 4,096 behind, on straight lines of the
/// logarithms.
pub const AS_COVID: &str = "hardness:497,2";
/// As hard as PLANET, and as PLANET800.
pub const AS_PLANET: &str = "hardness:3082,13";
/// As hard as GENOME, and as GENOME800.
pub const AS_GENOME: &str = "hardness:4828,5";
/// As hard as the OSM of 200 million keys.
pub const AS_OSM: &str = "hardness:3323,27";
/// As hard as OSM800, which is OpenStreetMap's keys as well.
pub const AS_OSM800: &str = "hardness:3643,25";

const LOCAL_ERROR: u64 = 32;
const GLOBAL_ERROR: u64 = 4_096;
/// Most segments for each million keys: pieces must be well longer than twice the error.
const MOST_LOCAL: f64 = 10_000.0;
const MOST_GLOBAL: f64 = 100.0;

/// `count` keys in `local` pieces in `global` pieces.
#[derive(Debug, Clone, Copy)]
struct Pieces {
    count: u64,
    local: u64,
    global: u64,
}

impl Pieces {
    /// First key of local piece `piece`: pieces differ by at most one key in length.
    fn local_start(self, piece: u64) -> u64 {
        scale(piece, self.count, self.local)
    }

    /// First local piece of global piece `piece`.
    fn global_start(self, piece: u64) -> u64 {
        scale(piece, self.local, self.global)
    }
}

/// `number * to / from`, rounded down.
fn scale(number: u64, to: u64, from: u64) -> u64 {
    (u128::from(number) * u128::from(to) / u128::from(from)) as u64
}

/// Twice the widest gap that a line within `error` of `keys` keys over a width of `width` can cross.
fn breaking_jump(width: u64, keys: u64, error: u64) -> u64 {
    2 * scale(width, 2 * error + 1, keys.saturating_sub(2 * error + 1).max(1)) + 1
}

/// Distinct keys with `local` segments at error 32 and `global` segments at error 4096 for each million keys.
pub(super) fn hardness(plan: &Plan) -> Result<Box<dyn Source>> {
    let (local, global) = (plan.option("local"), plan.option("global"));
    if !(local >= global && local <= MOST_LOCAL && global <= MOST_GLOBAL) {
        let detail =
            format!("local hardness lies between global hardness and {MOST_LOCAL}, global at most {MOST_GLOBAL}");
        return Err(Error::spec(&plan.name, detail));
    }
    if plan.count > 1 << 33 {
        return Err(plan.too_many("at most 2^33 keys, so that they fit into 64 bits"));
    }
    let segments = |per_million: f64| ((plan.count as f64 * per_million / 1e6).round() as u64).max(1);
    let pieces = Pieces { count: plan.count, local: segments(local), global: segments(global) };
    let mut walk = Walk::new(pieces, Random::new(plan.seed, "hardness"));
    Ok(Counted::boxed(plan.count, move |index| walk.key(index)))
}

/// State of the generator.
struct Walk {
    pieces: Pieces,
    random: Random,
    /// Numbers of the local and global piece that come next, and their first indexes.
    next_local: u64,
    next_local_start: u64,
    next_global: u64,
    next_global_start: u64,
    /// Spacing of the keys in this global piece.
    spacing: u64,
    /// Undisturbed place of the last key, first key of this global piece, and the index it had.
    place: u64,
    global_first: u64,
    global_first_index: u64,
}

impl Walk {
    fn new(pieces: Pieces, random: Random) -> Self {
        Self {
            pieces,
            random,
            next_local: 0,
            next_local_start: 0,
            next_global: 0,
            next_global_start: 0,
            spacing: 16,
            place: 0,
            global_first: 0,
            global_first_index: 0,
        }
    }

    fn key(&mut self, index: u64) -> u64 {
        self.place += self.spacing;
        if index == self.next_local_start {
            if index == self.next_global_start {
                self.enter_global(index);
            } else {
                let keys = self.pieces.count / self.pieces.local;
                self.place += breaking_jump(keys * self.spacing, keys, LOCAL_ERROR);
            }
            self.next_local += 1;
            self.next_local_start = self.pieces.local_start(self.next_local);
        }
        self.place + self.random.below(self.spacing)
    }

    fn enter_global(&mut self, index: u64) {
        if index > 0 {
            let keys = index - self.global_first_index;
            self.place += breaking_jump(self.place - self.global_first, keys, GLOBAL_ERROR);
        }
        self.spacing = 16 << self.random.below(8);
        self.place += self.spacing;
        (self.global_first, self.global_first_index) = (self.place, index);
        self.next_global += 1;
        self.next_global_start = self.pieces.local_start(self.pieces.global_start(self.next_global));
    }
}
