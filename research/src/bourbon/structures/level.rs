//! Level models: a map from a key to a table and a window in it (Bourbon, Section 4.3).

use super::model::{ModelBuilder, PositionModel};
use ogive::lsm::extend::{LevelGuide, ModelSize, PositionWindow, Reservation};

/// One model over the records of all tables of a level, and the position at which each table begins.
#[derive(Debug)]
pub(super) struct LevelModel {
    model: PositionModel,
    /// The number of the first record of each table.
    starts: Vec<u64>,
}

/// The place where a key may lie: a table, and the first and the last position in it.
type TableWindow = (usize, PositionWindow);

impl LevelModel {
    /// `counts` are the records of each table, in order.
    pub(super) fn new(builder: ModelBuilder, counts: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut next = 0;
        let starts = counts.into_iter().map(|count| {
            let start = next;
            next += count;
            start
        });
        let starts = starts.collect();
        let model = builder.finish().filter(|model| model.records() == next)?;
        Some(Self { model, starts })
    }

    /// The table in which the key's window begins, and the next one if the window reaches it.
    #[inline]
    fn find(&self, key: &[u8]) -> Option<(TableWindow, Option<TableWindow>)> {
        let (low, high) = self.model.window(key)?;
        let table = self.starts.partition_point(|&start| start <= low).checked_sub(1)?;
        let start = *self.starts.get(table)?;
        let next = self.starts.get(table + 1).copied().filter(|&next| next <= high);
        let end = next.map_or(high, |next| next - 1);
        let behind = next.map(|next| (table + 1, (0, high - next)));
        Some(((table, (low - start, end.max(low) - start)), behind))
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.model.memory_bytes() + 8 * self.starts.len() as u64
    }
}

/// A level model as the guide of its level, with its memory reservation.
#[derive(Debug)]
pub(super) struct LevelModelGuide {
    pub(super) model: LevelModel,
    pub(super) _held: Reservation,
}

impl LevelGuide for LevelModelGuide {
    fn locate(&self, key: &[u8]) -> [Option<TableWindow>; 2] {
        self.model.find(key).map_or([None; 2], |(first, behind)| [Some(first), behind])
    }

    fn model(&self) -> ModelSize {
        ModelSize { bytes: self.model.memory_bytes(), segments: self.model.model.segments() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_lead_to_the_tables_that_hold_the_keys() {
        let keys: Vec<[u8; 8]> = (0..30_000_u64).map(|i| (i * i).to_be_bytes()).collect();
        // Each table is longer than a window; keys of shorter ones are found without the model.
        let counts = [1000, 100, 14_000, 500, 14_400];
        let mut builder = ModelBuilder::new(&keys[0], keys.last().unwrap(), 8);
        keys.iter().for_each(|key| builder.add(key));
        let model = LevelModel::new(builder, counts).unwrap();
        let mut position = 0;
        for (table, count) in counts.into_iter().enumerate() {
            for local in 0..count {
                let (first, second) = model.find(&keys[position]).unwrap();
                let holds = |(found, (low, high)): TableWindow| found == table && low <= local && local <= high;
                assert!(holds(first) || second.is_some_and(holds), "{position}: {first:?} {second:?}");
                position += 1;
            }
        }
        assert!(LevelModel::new(ModelBuilder::new(b"", b"", 8), [1]).is_none());
    }
}
