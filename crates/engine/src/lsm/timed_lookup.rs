//! Timed lookups: a clock between the steps of a lookup, for breakdowns (Bourbon, Figures 2 and 8). Ordinary lookups
//! are not slowed by it.

use super::db::Db;
use super::entry::Sequence;
use super::keyspace::Keyspace;
use super::table_file::TableFile;
use super::view::{FoundValue, KeyspaceView, SourceAnswer};
use crate::block::Slice;
use crate::error::Result;
use crate::io::StepClock;
use crate::table::TableSteps;
use std::sync::Arc;

/// The time spent in each step of lookups, in nanoseconds. The steps are those of the paper (Section 2.1), summed over
/// all tables searched. Indexes and filters are resident, so there is no step to load them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LookupSteps {
    /// Finding the tables that may contain the key.
    pub find_files_ns: f64,
    /// Finding the block, by full keys, separators or a model.
    pub search_index_ns: f64,
    /// Querying the filter.
    pub search_filter_ns: f64,
    /// Loading the block into memory.
    pub load_block_ns: f64,
    /// Finding the record in the block.
    pub search_block_ns: f64,
    /// Reading the value, which may be in the value log.
    pub read_value_ns: f64,
    /// Everything else: the view and the memtables.
    pub other_ns: f64,
    /// Number of tables searched.
    pub tables: u64,
}

impl LookupSteps {
    /// The sum of all steps.
    #[must_use]
    pub fn total_ns(&self) -> f64 {
        let search = self.search_index_ns + self.search_filter_ns + self.search_block_ns;
        self.find_files_ns + search + self.load_block_ns + self.read_value_ns + self.other_ns
    }

    fn add(&mut self, steps: &TableSteps) {
        self.search_index_ns += steps.search_index_ns;
        self.search_filter_ns += steps.search_filter_ns;
        self.load_block_ns += steps.load_block_ns;
        self.search_block_ns += steps.search_block_ns;
        self.tables += 1;
    }
}

impl Db {
    /// As [`Keyspace::get`] in the default keyspace; adds the time of each step to `steps`.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn get_timed(
        &self,
        key: impl AsRef<[u8]>,
        clock: &mut StepClock,
        steps: &mut LookupSteps,
    ) -> Result<Option<Slice>> {
        let keyspace: &Keyspace = self;
        clock.begin();
        let view = keyspace.tree().view.get();
        let found = view.find_timed(key.as_ref(), self.core().visible(), clock, steps)?;
        let value = found.map(|found| keyspace.value(found, &view.values)).transpose()?;
        steps.read_value_ns += clock.lap_ns();
        Ok(value)
    }
}

impl KeyspaceView {
    /// As [`KeyspaceView::find`].
    fn find_timed(
        &self,
        key: &[u8],
        at: Sequence,
        clock: &mut StepClock,
        steps: &mut LookupSteps,
    ) -> Result<Option<FoundValue>> {
        for memtable in self.memtables() {
            let source = SourceAnswer { hidden: memtable.covering(key, at), entry: memtable.get_slice(key, at) };
            if let Some(found) = source.decide() {
                steps.other_ns += clock.lap_ns();
                return Ok(found);
            }
        }
        steps.other_ns += clock.lap_ns();
        for table in self.levels.newest.iter().filter(|table| table.may_hold(key)) {
            steps.find_files_ns += clock.lap_ns();
            if let Some(found) = ask(table, key, at, None, clock, steps)? {
                return Ok(found);
            }
        }
        for (_, level) in &self.levels.deeper {
            let asked = level.route(key);
            // A level's model finds both the table and the position.
            let step = if level.model().is_some() { &mut steps.search_index_ns } else { &mut steps.find_files_ns };
            *step += clock.lap_ns();
            if let Some((table, window)) = asked
                && let Some(found) = ask(table, key, at, window, clock, steps)?
            {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

fn ask(
    table: &Arc<TableFile>,
    key: &[u8],
    at: Sequence,
    window: Option<(u64, u64)>,
    clock: &mut StepClock,
    steps: &mut LookupSteps,
) -> Result<Option<Option<FoundValue>>> {
    let mut inner = TableSteps::default();
    let entry = table.get_timed(key, at, window, clock, &mut inner)?;
    steps.add(&inner);
    Ok(SourceAnswer { hidden: table.covering(key, at), entry }.decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryStorage;
    use crate::lsm::{DbOptions, Learning};

    #[test]
    fn timed_look_ups_find_what_others_find_and_fill_every_step() -> Result<()> {
        for learning in [Learning::Never, Learning::Offline, Learning::Coded] {
            let options = DbOptions { threads: 0, learning, separation_threshold: 0, ..DbOptions::default() };
            let db = Db::open_in(Arc::new(MemoryStorage::new()), &options)?;
            for round in 0..3_u32 {
                for key in (round..3_000).step_by(1 + round as usize) {
                    db.insert(key.to_be_bytes(), [key.to_le_bytes(), round.to_le_bytes()].concat())?;
                }
                db.flush()?;
            }
            db.learn()?;
            let mut steps = LookupSteps::default();
            let mut clock = StepClock::new();
            for key in 0..3_010_u32 {
                let timed = db.get_timed(key.to_be_bytes(), &mut clock, &mut steps)?;
                assert_eq!(timed, db.get(key.to_be_bytes())?, "{key}");
            }
            assert!(steps.tables >= 3_000 && steps.search_index_ns > 0.0 && steps.search_block_ns > 0.0, "{steps:?}");
            assert!(steps.total_ns() >= steps.read_value_ns && steps.read_value_ns > 0.0, "{steps:?}");
        }
        Ok(())
    }
}
