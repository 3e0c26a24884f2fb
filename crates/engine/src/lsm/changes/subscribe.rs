//! Subscribers: each has a small file, or object, that says up to which change it needs nothing any more. The writer
//! reads these files whenever it is about to forget something, so they may be written by any process.

use crate::error::{Error, Result};
use crate::io::Storage;
use crate::lsm::core::store::Core;
use crate::lsm::state::changes::kept;
use crate::lsm::state::changes::position::ChangePosition;
use crate::lsm::state::entry::{SEQUENCE_MAX, Sequence};
use crate::lsm::state::version::{KeptChanges, is_subscriber_name};
use serde::Serialize;
use std::collections::BTreeMap;

/// A subscriber to the changes of a store: see [`Db::subscribe`](crate::Db::subscribe).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SubscriberStats {
    /// Its name.
    pub name: String,
    /// The position up to which it has acknowledged.
    pub position: ChangePosition,
    /// Bytes of files with changes behind that, which the store keeps for it, and perhaps for others: logs whose
    /// entries are in tables, the value files that they point into, and ingested tables. Logs that the store needs
    /// anyway are not among them.
    pub kept_bytes: u64,
}

impl Core {
    /// The position of a change of this store.
    pub(in crate::lsm) fn position(&self, sequence: Sequence) -> ChangePosition {
        ChangePosition { store: self.files.binding.store, sequence }
    }

    /// The number of a position.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for one of another store.
    pub(in crate::lsm) fn sequence_of(&self, position: &ChangePosition) -> Result<Sequence> {
        if position.store == self.files.binding.store && position.sequence <= SEQUENCE_MAX {
            return Ok(position.sequence);
        }
        let of =
            if position.store == self.files.binding.store { "no position" } else { "a position of another store than" };
        Err(Error::input(format!("{position} is {of} {}", self.path().display())))
    }

    /// Refuses to follow a closed store.
    pub(in crate::lsm) fn check_followable(&self) -> Result<()> {
        if self.is_closed() { Err(self.closed()) } else { Ok(()) }
    }

    /// The storage where the files of subscribers are.
    fn place_of_subscribers(&self) -> &dyn Storage {
        self.files.objects.as_ref().map_or(&*self.files.storage, |objects| objects.bucket())
    }

    /// The position up to which a subscriber has acknowledged; `None` if there is none of this name.
    pub(in crate::lsm) fn subscriber(&self, name: &str) -> Result<Option<ChangePosition>> {
        self.check_subscriber(name)?;
        let acknowledged = kept::acknowledged(self.place_of_subscribers(), self.files.binding.store, name)?;
        Ok(acknowledged.map(|sequence| self.position(sequence)))
    }

    /// The subscribers, each with the position up to which it has acknowledged.
    pub(in crate::lsm) fn subscribers(&self) -> Result<BTreeMap<String, ChangePosition>> {
        self.check_followable()?;
        let found = kept::subscribers(self.place_of_subscribers(), self.files.binding.store)?;
        Ok(found.into_iter().map(|(name, sequence)| (name, self.position(sequence))).collect())
    }

    /// What is kept for each subscriber.
    pub(in crate::lsm) fn subscriber_stats(&self) -> Result<Vec<SubscriberStats>> {
        let found = self.subscribers()?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let kept = match self.files.objects {
            None => KeptChanges::read(&*self.files.storage, self.files.binding.store)?,
            Some(_) => self.contents.lock().state.kept.clone(),
        };
        let stats = |(name, position): (String, ChangePosition)| SubscriberStats {
            name,
            position,
            kept_bytes: kept.bytes_behind(position.sequence),
        };
        Ok(found.into_iter().map(stats).collect())
    }

    /// Makes a subscriber at a position.
    pub(in crate::lsm) fn subscribe_at(&self, name: &str, position: &ChangePosition) -> Result<()> {
        self.check_subscriber(name)?;
        kept::acknowledge(self.place_of_subscribers(), self.files.binding.store, name, self.sequence_of(position)?)
    }

    /// Makes a subscriber at the newest change that is durable, with no write meanwhile, so that nothing behind it is
    /// forgotten before it is known.
    pub(in crate::lsm) fn subscribe_here(&self, name: &str) -> Result<ChangePosition> {
        let mut writer = self.writer_alone();
        self.sync_writes(&mut writer)?;
        let sequence = writer.active.last_sequence;
        kept::acknowledge(self.place_of_subscribers(), self.files.binding.store, name, sequence)?;
        Ok(self.position(sequence))
    }

    /// Records that a subscriber needs nothing up to a position, and forgets what none needs.
    pub(in crate::lsm) fn acknowledge(&self, name: &str, position: &ChangePosition) -> Result<()> {
        let sequence = self.sequence_of(position)?;
        if self.subscriber(name)?.is_none() {
            return Err(Error::no_subscriber(self.path(), name));
        }
        kept::acknowledge(self.place_of_subscribers(), self.files.binding.store, name, sequence)?;
        if self.access.is_read_only() { Ok(()) } else { self.forget_acknowledged() }
    }

    /// Removes a subscriber; returns `false` if there is none of this name.
    pub(in crate::lsm) fn unsubscribe(&self, name: &str) -> Result<bool> {
        if self.subscriber(name)?.is_none() {
            return Ok(false);
        }
        kept::remove_subscriber(self.place_of_subscribers(), name)?;
        if !self.access.is_read_only() {
            self.forget_acknowledged()?;
        }
        Ok(true)
    }

    fn check_subscriber(&self, name: &str) -> Result<()> {
        self.check_followable()?;
        if is_subscriber_name(name) {
            return Ok(());
        }
        Err(Error::input(format!("{name:?} is no name of a subscriber; use 1 to 64 letters, digits, \"_\" and \"-\"")))
    }
}
