//! The records of the load, and the operations of each batch after it. All is computed from numbers, so that a reader
//! in another process knows the contents of each version of the store.

use ogive_testkit::Random;
use std::collections::HashMap;

/// Operations of a batch.
const OPERATIONS: u64 = 300;
/// One in this many operations removes a record.
const REMOVALS: u64 = 8;
/// One in this many values is long, and kept apart from its key.
const LONG_VALUES: u64 = 64;
/// Most operations are on the first places, one in this many, so that they overwrite what they wrote; one in some is on
/// any place.
const PLACES_A_WRITTEN_ONE: u64 = 200;
const ANYWHERE: u64 = 8;

/// The key of the record that has the number of the last batch.
pub(crate) const COUNTER: &[u8] = b"batches";

/// The key at a place: 16 bytes, ascending.
pub(crate) fn key(place: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&place.to_be_bytes());
    key[8..].copy_from_slice(&Random::new(place).next_u64().to_be_bytes());
    key
}

/// The value that batch `batch` writes at a place; the load is batch 0. About 900 bytes at the mean.
pub(crate) fn value(place: u64, batch: u64) -> Vec<u8> {
    let mut random = Random::new(place ^ batch << 40);
    let bytes = match random.one_in(LONG_VALUES) {
        true => 8 << 10 | random.below(32 << 10),
        false => 100 + random.below(900),
    };
    (0..bytes.div_ceil(8)).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}

/// The places that a batch changes, and whether it removes what is there.
pub(crate) fn operations(batch: u64, places: u64) -> impl Iterator<Item = (u64, bool)> {
    let mut random = Random::new(batch);
    (0..OPERATIONS).map(move |_| {
        let written = if random.one_in(ANYWHERE) { places } else { places.div_ceil(PLACES_A_WRITTEN_ONE) };
        let place = random.below(written);
        (place, random.one_in(REMOVALS))
    })
}

/// The contents after some batches.
#[derive(Debug)]
pub(crate) struct Model {
    places: u64,
    batches: u64,
    /// The batch that has written a place last; `None` if it has removed the record.
    changed: HashMap<u64, Option<u64>>,
}

impl Model {
    pub(crate) fn new(places: u64) -> Self {
        Self { places, batches: 0, changed: HashMap::new() }
    }

    /// Goes on to the state after `batches` batches.
    pub(crate) fn advance(&mut self, batches: u64) {
        assert!(self.batches <= batches, "batch {batches} after {}", self.batches);
        for batch in self.batches + 1..=batches {
            for (place, is_removal) in operations(batch, self.places) {
                self.changed.insert(place, (!is_removal).then_some(batch));
            }
        }
        self.batches = batches;
    }

    pub(crate) fn batches(&self) -> u64 {
        self.batches
    }

    /// The value at a place.
    pub(crate) fn value(&self, place: u64) -> Option<Vec<u8>> {
        let batch = self.changed.get(&place).copied().unwrap_or(Some(0));
        (place < self.places).then_some(batch?).map(|batch| value(place, batch))
    }

    /// A place to ask for: every other one is one that batches write to.
    pub(crate) fn place(&self, random: &mut Random) -> u64 {
        let places = if random.one_in(2) { self.places.div_ceil(PLACES_A_WRITTEN_ONE) } else { self.places };
        random.below(places)
    }
}
