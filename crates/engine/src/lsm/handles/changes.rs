//! The methods of stores for those who follow them: changes in the order of their commits, and subscribers.

use super::db::Db;
use crate::error::Result;
use crate::lsm::changes::follow::{ChangeBatch, Follower};
use crate::lsm::changes::subscribe::SubscriberStats;
use crate::lsm::state::changes::position::ChangePosition;
use std::collections::BTreeMap;

/// The changes of a store behind a position, as [`Db::changes_since`] returns them. It ends when there are no more now,
/// and goes on when asked again after more was written.
#[derive(Debug)]
pub struct DbChanges {
    db: Db,
    follower: Follower,
}

impl DbChanges {
    /// The position behind what it has returned; `None` while it has returned nothing, if it began with the oldest
    /// change that was left.
    #[must_use]
    pub fn position(&self) -> Option<ChangePosition> {
        self.follower.at().map(|sequence| self.db.core().position(sequence))
    }
}

impl Iterator for DbChanges {
    type Item = Result<ChangeBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.db.core().next_batch(&mut self.follower).transpose()
    }
}

impl Db {
    /// The changes behind a position, in the order of their commits, with the borders of batches; with `None`, those
    /// that are left. All of them are durable: if the store does not sync each write, this does.
    ///
    /// A store that is open read-only is followed, too: each call reads what its writer has written since. That needs
    /// permission to sync the files of the writer. On an object store it takes one listing, and one read of each new
    /// part of a log; where a listing shows nothing new, that is all.
    ///
    /// Without a [subscriber](Self::subscribe), only what is not flushed to tables yet is left for sure; on an object
    /// store, also what was flushed within the [grace period](crate::lsm::DbObjectOptions::grace_s).
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::{Change, Db, DbOptions};
    ///
    /// let db = Db::open(storage, &DbOptions::default())?;
    /// let start = db.subscribe("search")?;
    /// let mut batch = db.batch();
    /// batch.insert(&db, "apple", "red").remove(&db, "pear");
    /// batch.commit()?;
    ///
    /// let mut changes = db.changes_since(start)?;
    /// let batch = changes.next().unwrap()?;
    /// assert!(matches!(&batch.changes[..], [Change::Insert { .. }, Change::Remove { .. }]));
    /// db.acknowledge("search", &batch.position)?;
    ///
    /// assert!(changes.next().is_none());
    /// db.insert("fig", "green")?;
    /// assert!(changes.next().is_some());
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a position in another store. Items are errors, again and again: with
    /// [`Cause::ChangesGone`](crate::Cause::ChangesGone) if changes behind the position are not there any more,
    /// [`Cause::Input`](crate::Cause::Input) for a position that the store has not reached,
    /// [`Cause::ValueTooLarge`](crate::Cause::ValueTooLarge) for a value longer than the memory of the store, and
    /// errors of the storage.
    pub fn changes_since(&self, position: impl Into<Option<ChangePosition>>) -> Result<DbChanges> {
        self.core().check_followable()?;
        let after = position.into().map(|position| self.core().sequence_of(&position)).transpose()?;
        Ok(DbChanges { db: self.clone(), follower: Follower::new(after) })
    }

    /// The position of the newest change that this handle sees; that of a store that is open read-only is as of its
    /// opening.
    #[must_use]
    pub fn newest_position(&self) -> ChangePosition {
        self.core().position(self.core().visible())
    }

    /// Makes a named subscriber, and returns its position: the newest change that is durable, or the one up to which a
    /// subscriber of this name has [acknowledged](Self::acknowledge) before. From now on the store keeps the changes
    /// behind that, also when it is opened again, up to
    /// [`DbWriteOptions::kept_changes_bytes`](crate::lsm::DbWriteOptions::kept_changes_bytes) and
    /// [`kept_changes_age`](crate::lsm::DbWriteOptions::kept_changes_age).
    ///
    /// A store that is open read-only gets a subscriber, too, by a file in its folder that its writer reads whenever it
    /// flushes. If the writer forgets changes at that very moment, the subscriber is told by
    /// [`Cause::ChangesGone`](crate::Cause::ChangesGone) when it reads them. On an object store it is an object, which
    /// the writer reads before it removes files: they stay for the grace period in any case.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a name of other characters than letters, digits, `_` and `-`; as
    /// [`Self::persist`].
    pub fn subscribe(&self, name: &str) -> Result<ChangePosition> {
        let core = self.core();
        if let Some(position) = core.subscriber(name)? {
            return Ok(position);
        }
        if !core.access.is_read_only() {
            return core.subscribe_here(name);
        }
        let follower = match core.files.objects {
            Some(_) => Follower::of_unflushed(),
            None => Follower::new(None),
        };
        let mut changes = DbChanges { db: self.clone(), follower };
        while changes.next().transpose()?.is_some() {}
        let position = changes.position().unwrap_or_else(|| core.position(core.visible()));
        core.subscribe_at(name, &position)?;
        Ok(position)
    }

    /// Records, durably, that a subscriber needs nothing up to a position any more.
    ///
    /// # Errors
    /// As [`Self::subscribe`]; [`Cause::Input`](crate::Cause::Input) for a position in another store, and for a
    /// subscriber that is not there: one that was removed meanwhile does not come back, and nothing is kept for it.
    pub fn acknowledge(&self, name: &str, position: &ChangePosition) -> Result<()> {
        self.core().acknowledge(name, position)
    }

    /// Removes a subscriber, and what is kept for it alone; returns `false` if there is none of this name.
    ///
    /// # Errors
    /// As [`Self::subscribe`].
    pub fn unsubscribe(&self, name: &str) -> Result<bool> {
        self.core().unsubscribe(name)
    }

    /// The subscribers by name, each with the position up to which it has acknowledged.
    ///
    /// # Errors
    /// As [`Self::subscribe`].
    pub fn subscribers(&self) -> Result<BTreeMap<String, ChangePosition>> {
        self.core().subscribers()
    }

    /// The subscribers by name, with what the store keeps for them.
    ///
    /// # Errors
    /// As [`Self::subscribe`].
    pub fn subscriber_stats(&self) -> Result<Vec<SubscriberStats>> {
        self.core().subscriber_stats()
    }
}
