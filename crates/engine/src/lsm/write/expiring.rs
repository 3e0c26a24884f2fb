//! The first record that expires, and rules by which records expire: from then on, the manifest has the time of the
//! store.
//!
//! The edit precedes the records in the log, so that a program that does not know them does not open the store.

use crate::error::{Error, Result};
use crate::lsm::core::shared::StateChange;
use crate::lsm::core::store::Core;
use crate::lsm::state::expiry::rule::ExpiryRule;
use crate::lsm::state::expiry::store_time::TimeReading;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::operations::Operations;
use crate::lsm::state::version::ManifestEdit;
use crate::types::display_unix_ms;

impl Core {
    /// Refuses a clock that is too far ahead, or behind: the time of records that expire would be wrong, too.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input).
    #[cold]
    pub(in crate::lsm) fn check_clock(&self) -> Result<()> {
        let reading @ TimeReading { now_ms, clock_ms, is_ahead } = self.contents.time.read();
        if self.contents.time.is_behind(reading) {
            return Err(Error::clock_behind(self.path(), &display_unix_ms(now_ms), &display_unix_ms(clock_ms)));
        }
        if !is_ahead {
            return Ok(());
        }
        self.report_clock_ahead(now_ms, clock_ms);
        Err(Error::clock_ahead(self.path(), &display_unix_ms(now_ms), &display_unix_ms(clock_ms)))
    }

    /// Sets the rule by which the records of a keyspace expire that are written from now on.
    ///
    /// # Errors
    /// As [`Self::check_expiry_rule`]; as for any write.
    pub(in crate::lsm) fn set_expiry_rule(&self, tree: &KeyspaceTree, rule: Option<ExpiryRule>) -> Result<()> {
        self.change_keyspace_options(tree, |options| options.expiry(rule))
    }

    /// Checks that records of a keyspace can expire by a rule.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a field that is no timestamp of the keyspace's type, and as
    /// [`Self::check_clock`].
    pub(super) fn check_expiry_rule(&self, tree: &KeyspaceTree, rule: Option<&ExpiryRule>) -> Result<()> {
        let Some(rule) = rule else { return Ok(()) };
        rule.check(&tree.types.get().types.values)?;
        self.check_clock()
    }

    /// Lets the manifest have the time of the store before the first record that expires is logged.
    pub(super) fn begin_expiry_of(&self, batches: &[Operations]) -> Result<()> {
        if self.contents.time.is_used() || !batches.iter().any(Operations::expire) {
            return Ok(());
        }
        let mut shared = self.contents.lock();
        let edit = ManifestEdit { times: Some(self.contents.time.to_record()), ..ManifestEdit::default() };
        self.apply(&mut shared, StateChange { edit, ..StateChange::default() })
    }
}
