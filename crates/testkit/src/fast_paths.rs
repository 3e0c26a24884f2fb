//! Settings of [`FastPaths`] under which answers are compared.

use crate::random::Random;
use ogive::io::FastPaths;

/// Number of settings.
pub const SETTINGS: u64 = 1 << 11;

/// The setting of a number below [`SETTINGS`]: one bit for each path.
pub fn of_bits(bits: u64) -> FastPaths {
    let is_on = |path: u32| bits >> path & 1 == 1;
    FastPaths {
        cache: is_on(0),
        filter: is_on(1),
        separators: is_on(2),
        models: is_on(3),
        prefetch: is_on(4),
        batches: is_on(5),
        write_behind: is_on(6),
        unqueued_writes: is_on(7),
        deferred_values: is_on(8),
        in_flight: is_on(9),
        large_pages: is_on(10),
    }
}

/// Any setting; all paths are on in every second one.
pub fn drawn(random: &mut Random) -> FastPaths {
    if random.one_in(2) { FastPaths::ALL } else { of_bits(random.below(SETTINGS)) }
}

/// All paths on, each one off individually, all off, and several random settings.
pub fn settings(random: &mut Random, drawn: usize) -> Vec<FastPaths> {
    let one_off = (0..SETTINGS.ilog2()).map(|path| of_bits(!(1 << path)));
    let drawn = (0..drawn).map(|_| of_bits(random.below(SETTINGS)));
    [FastPaths::ALL].into_iter().chain(one_off).chain([FastPaths::NONE]).chain(drawn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_number_is_a_setting_of_its_own() {
        let all: HashSet<FastPaths> = (0..SETTINGS).map(of_bits).collect();
        assert_eq!(all.len() as u64, SETTINGS);
        assert_eq!((of_bits(0), of_bits(SETTINGS - 1)), (FastPaths::NONE, FastPaths::ALL));
        let listed: HashSet<FastPaths> = settings(&mut Random::new(1), 0).into_iter().collect();
        assert_eq!(listed.len(), 13);
    }
}
