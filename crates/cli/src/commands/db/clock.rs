//! The clock of this machine beside the time of a store, by which records expire.

use crate::advice::told;
use crate::failure::Result;
use crate::output::note_once_about;
use crate::values::size::duration;
use ogive::lsm::{Db, DbOptions};
use std::path::Path;
use std::time::Duration;

/// How far the clock may be ahead of the time of a store.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct ClockAhead {
    /// For a store where records expire: how far the clock may be ahead of the time of the store, as in 90d: that of
    /// its last write, and what has passed since then while it was open [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Store", hide_short_help = true)]
    clock_ahead: Option<Duration>,
}

impl ClockAhead {
    /// Whether it is given as an argument.
    pub(crate) fn is_given(self) -> bool {
        self.clock_ahead.is_some()
    }

    /// Options of a store, with this one.
    pub(super) fn applied_to(self, options: DbOptions) -> DbOptions {
        match self.clock_ahead {
            Some(most) => options.expiry(|expiry| expiry.clock_ahead_max(most)),
            None => options,
        }
    }
}

/// Opens a store read-only, and warns of a clock that is too far ahead.
///
/// # Errors
/// Those of the engine.
pub(super) fn open_to_read(folder: &Path, options: &DbOptions) -> Result<Db> {
    let db = Db::open_read_only(folder, options)?;
    warn_of_clock(folder, &db);
    Ok(db)
}

/// Warns, once for each store, of a clock that is too far ahead: records that have expired are shown.
pub(super) fn warn_of_clock(folder: &Path, db: &Db) {
    if let Err(error) = db.check_clock() {
        note_once_about(&folder.display().to_string(), format!("warning: {}", told(&error)));
    }
}
