//! The targets of writes: the log, the value file and the memtables.

use super::wal::WalWriter;
use crate::block::compress::Compression;
use crate::error::Result;
use crate::lsm::state::entry::{KeyspaceId, Operation, Sequence};
use crate::lsm::state::memtable_set::MemtableSet;
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::version::ManifestState;
use crate::vlog::ValueFileWriter;
use std::collections::BTreeMap;

/// The values that go to value files, and how they are compressed there.
#[derive(Clone, Debug, Default)]
pub(in crate::lsm) struct SeparationRules {
    /// Of keyspaces without a rule of their own.
    common: SeparationRule,
    own: BTreeMap<KeyspaceId, SeparationRule>,
    /// No keyspace has a lower limit.
    pub(in crate::lsm) least_bytes: u64,
}

/// The rule of a keyspace.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::lsm) struct SeparationRule {
    /// Values of at least this many bytes go to value files.
    pub(in crate::lsm) from_bytes: u64,
    pub(in crate::lsm) compression: Compression,
}

impl SeparationRules {
    /// The rules by the options of a store and those of its keyspaces.
    pub(in crate::lsm) fn new(options: &DbOptions, state: &ManifestState) -> Self {
        let rule =
            |of: &DbOptions| SeparationRule { from_bytes: of.separated_from_bytes(), compression: of.compression };
        let common = rule(options);
        let own = state.options().into_iter().map(|(id, own)| (id, rule(&options.of_keyspace(&own))));
        let own: BTreeMap<_, _> = own.collect();
        let least_bytes = own.values().map(|rule| rule.from_bytes).fold(common.from_bytes, u64::min);
        Self { common, own, least_bytes }
    }

    /// The rule of a keyspace.
    pub(in crate::lsm) fn of(&self, keyspace: KeyspaceId) -> SeparationRule {
        self.own.get(&keyspace).copied().unwrap_or(self.common)
    }
}

/// The targets of writes. The holder of its lock is the only writer.
#[derive(Debug)]
pub(in crate::lsm) struct WriterState {
    /// `None` after a failure.
    pub(in crate::lsm) log: Option<WalWriter>,
    /// The value file being written.
    pub(in crate::lsm) values: Option<ValueFileWriter>,
    /// Whether unsynced values were written.
    pub(in crate::lsm) values_unsynced: bool,
    /// Bytes of log written since the last sync.
    pub(in crate::lsm) unsynced_bytes: u64,
    pub(in crate::lsm) active: MemtableSet,
    pub(in crate::lsm) next_sequence: Sequence,
    /// Number of values written to value files, or to be.
    pub(in crate::lsm) separated: u64,
    /// The operations of the last small group, whose memory the next one uses again.
    pub(in crate::lsm) decoded: Vec<Operation>,
    pub(in crate::lsm) separation: SeparationRules,
}

impl WriterState {
    pub(in crate::lsm) fn new(log: Option<WalWriter>, active: MemtableSet, next_sequence: Sequence) -> Self {
        Self {
            log,
            values: None,
            values_unsynced: false,
            unsynced_bytes: 0,
            active,
            next_sequence,
            separated: 0,
            decoded: Vec::new(),
            separation: SeparationRules::default(),
        }
    }

    /// Abandons the log and the value file after a failure, since their durable contents are unknown.
    pub(in crate::lsm) fn abandon(&mut self) {
        self.log = None;
        if let Some(values) = self.values.take() {
            self.active.unconfirmed_values.push(values.number());
        }
        self.values_unsynced = false;
    }

    /// Finishes the current value file.
    pub(in crate::lsm) fn finish_values(&mut self) -> Result<()> {
        let Some(values) = self.values.take() else { return Ok(()) };
        let number = values.number();
        self.values_unsynced = false;
        values.finish().map(drop).inspect_err(|_| self.active.unconfirmed_values.push(number))
    }

    /// Syncs the value file and the log.
    pub(in crate::lsm) fn sync(&mut self) -> Result<()> {
        if let Some(values) = self.values.as_mut().filter(|_| self.values_unsynced) {
            values.sync()?;
            self.values_unsynced = false;
        }
        if let Some(log) = &mut self.log {
            log.sync()?;
        }
        self.unsynced_bytes = 0;
        Ok(())
    }
}

/// The encoded bytes of a group, and its operations.
#[derive(Debug)]
pub(in crate::lsm) struct WriteGroup {
    pub(in crate::lsm) bytes: Vec<u8>,
    pub(in crate::lsm) operations: Vec<Operation>,
}
