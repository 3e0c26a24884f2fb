//! The lookups that an index is designed for: their objective, their keys, and what stays in memory between them.

use crate::failure::Result;
use crate::output::note;
use crate::reading::lookups::Lookups;
use crate::reading::pipe::refuse_one_pipe;
use crate::reading::standard_input::input_named;
use crate::values::size::{ByteSize, grouped, positive_count};
use ogive::table::TableWriteOptions;
use ogive::tune::{DesignCaching, DesignObjective};
use ogive::{Error, KeyType};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// The lookups that an index is designed for.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WorkloadOptions {
    /// Minimise the expected time of a lookup (mean), or a quantile of it, such as p95, p99 or p99.9
    #[arg(long, value_name = "GOAL", default_value = "mean", value_parser = objective, help_heading = "Lookups")]
    pub(crate) objective: DesignObjective,

    /// Leave the read that opens the table out of a lookup, for programs that keep it open; =N shares it among N
    /// lookups
    #[arg(long, value_name = "=N", num_args = 0..=1, require_equals = true, help_heading = "Lookups")]
    #[arg(default_missing_value = KEPT_OPEN, value_parser = lookups_per_opening)]
    open: Option<Openings>,

    /// Weigh blocks by the lookups of FILE: a key on each line, as `ogive get` takes it, in the order of the lookups;
    /// - reads standard input
    #[arg(long, value_name = "FILE", help_heading = "Lookups")]
    lookups: Option<OsString>,

    /// Memory of a program that reads the table, as its --memory: --lookups are replayed twice through its cache, and
    /// hits cost no read
    #[arg(long, value_name = "N", requires = "lookups", help_heading = "Lookups")]
    reader_memory: Option<ByteSize>,
}

/// The value of `--open` without a number.
const KEPT_OPEN: &str = "all";

/// Lookups for each opening of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Openings {
    /// The table is opened once for all of them.
    KeptOpen,
    /// It is opened once for this many.
    OnceIn(u64),
}

fn objective(text: &str) -> Result<DesignObjective, String> {
    text.parse().map_err(|error: Error| crate::advice::told(&error))
}

fn lookups_per_opening(text: &str) -> Result<Openings, String> {
    if text == KEPT_OPEN { Ok(Openings::KeptOpen) } else { positive_count(text).map(Openings::OnceIn) }
}

impl WorkloadOptions {
    /// Whether a design is priced by the expected time of a cold lookup of any key, as reports of tables do.
    pub(crate) fn is_cold_mean(&self) -> bool {
        self.is_cold() && self.objective == DesignObjective::MeanLatency
    }

    /// Whether a lookup is of any key, and opens the table.
    pub(crate) fn is_cold(&self) -> bool {
        matches!(self.open, None | Some(Openings::OnceIn(1))) && !self.has_lookups()
    }

    /// Whether the keys that are looked up are given.
    pub(crate) fn has_lookups(&self) -> bool {
        self.lookups.is_some()
    }

    /// Memory of a reader in bytes, if it is given.
    pub(crate) fn reader_memory_bytes(&self) -> Option<u64> {
        self.reader_memory.map(|size| size.0)
    }

    /// The expected cache hits.
    pub(crate) fn caching(&self) -> DesignCaching {
        let caching = match self.open {
            None => DesignCaching::default(),
            Some(Openings::KeptOpen) => DesignCaching::opened_once_in(0),
            Some(Openings::OnceIn(lookups)) => DesignCaching::opened_once_in(lookups),
        };
        DesignCaching { memory_bytes: self.reader_memory_bytes(), ..caching }
    }

    /// The options of a table for these lookups, without their keys.
    pub(crate) fn write_options(&self, options: TableWriteOptions) -> TableWriteOptions {
        options.tuning(|tuning| tuning.objective(self.objective).caching(self.caching()))
    }

    /// The keys that are looked up.
    ///
    /// # Errors
    /// As [`Lookups::read`].
    pub(crate) fn read_lookups(&self) -> Result<Option<Arc<Lookups>>> {
        let read = |path: &OsString| Lookups::read(Path::new(path)).map(Arc::new);
        self.lookups.as_ref().map(read).transpose()
    }

    /// Refuses standard input, or a pipe, as both the data and the keys that are looked up.
    ///
    /// # Errors
    /// [`Failure::Usage`] if they are.
    pub(crate) fn refuse_one_pipe(&self, data: &Path) -> Result<()> {
        let Some(lookups) = self.lookups.as_deref().map(input_named) else { return Ok(()) };
        refuse_one_pipe([data, lookups], "the data and the keys of --lookups", "put one of them into a file")
    }

    /// Tells that the keys change nothing where every lookup reads one block.
    pub(crate) fn tell_of_strings(&self, key_type: &str) {
        let is_numeric = key_type.parse().is_ok_and(|key_type: KeyType| key_type.is_numeric());
        if self.has_lookups() && !is_numeric {
            note(format_args!(
                "--lookups changes nothing for keys of type {key_type}: each lookup reads one block, whichever it is"
            ));
        }
    }

    /// The time that is modelled, for headings.
    pub(crate) fn describe(&self) -> String {
        let place = match self.open {
            None => "cold lookup".to_owned(),
            Some(Openings::KeptOpen) => "lookup in an open table".to_owned(),
            Some(Openings::OnceIn(lookups)) => format!("lookup, opened once in {}", grouped(lookups)),
        };
        let goal = match self.objective {
            DesignObjective::MeanLatency => String::new(),
            objective => format!("{objective} of a "),
        };
        let keys = if self.has_lookups() { " of the given keys" } else { "" };
        let cache = if self.reader_memory.is_some() { ", with a cache" } else { "" };
        format!("{goal}modelled {place}{keys}{cache}")
    }

    /// The lookups in JSON: the objective, and the lookups for each opening, `null` if it is made once for all.
    pub(crate) fn add_to_json(&self, object: &mut Value) {
        object["objective"] = json!(self.objective.to_string());
        object["lookups_per_opening"] = match self.open {
            None => json!(1),
            Some(Openings::OnceIn(lookups)) => json!(lookups),
            Some(Openings::KeptOpen) => Value::Null,
        };
        object["lookups"] = json!(self.lookups.as_ref().map(|path| path.to_string_lossy()));
        object["reader_memory_bytes"] = json!(self.reader_memory_bytes());
    }
}
