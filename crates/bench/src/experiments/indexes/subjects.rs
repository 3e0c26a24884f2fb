//! The structures that an experiment compares. A failure of one does not affect the others.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Result, anyhow};
use ogive::index::aulid::AulidOptions;
use ogive::index::{IndexOptions, Kind};

use super::super::{Context, Output};
use crate::output::Record;

/// An index to be measured: a kind, or a variant of one with a name of its own.
#[derive(Debug, Clone)]
pub(in crate::experiments) struct Subject {
    pub(in crate::experiments) name: String,
    pub(in crate::experiments) options: IndexOptions,
}

impl Subject {
    /// A kind as it is by default.
    pub(in crate::experiments) fn of(kind: Kind) -> Self {
        Self { name: kind.name().into(), options: IndexOptions { kind, ..IndexOptions::default() } }
    }

    /// AULID under another name, with some of its options changed.
    pub(in crate::experiments) fn aulid(name: &str, change: impl FnOnce(&mut AulidOptions)) -> Self {
        let mut subject = Self::of(Kind::Aulid);
        subject.name = name.into();
        change(&mut subject.options.aulid);
        subject
    }

    /// Whether inserts change the structure where it is, rather than adding to a log of structures that are merged.
    pub(in crate::experiments) fn updates_in_place(&self) -> bool {
        self.options.kind != Kind::Pgm
    }
}

/// The requested structures, else `default`.
pub(in crate::experiments) fn subjects(context: &Context, default: &[Kind]) -> Result<Vec<Subject>> {
    if context.structures.is_empty() {
        return Ok(default.iter().copied().map(Subject::of).collect());
    }
    let parse = |name: &String| name.parse::<Kind>().map(Subject::of).map_err(|error| anyhow!(error));
    context.structures.iter().map(parse).collect()
}

/// Runs a measurement; where it fails, that is what is reported, and the run goes on.
pub(in crate::experiments) fn or_report<T>(
    output: &mut Output<'_>,
    record: Record,
    measure: impl FnOnce(&mut Output<'_>) -> Result<T>,
) -> Result<Option<T>> {
    // A bug in one structure must not cost the hours that went into the others.
    let measured = catch_unwind(AssertUnwindSafe(|| measure(output)));
    let error = match measured {
        Ok(Ok(measured)) => return Ok(Some(measured)),
        Ok(Err(error)) if error.is::<std::io::Error>() => return Err(error),
        Ok(Err(error)) => format!("{error:#}"),
        Err(panic) => {
            let message = panic.downcast_ref::<&str>().map(ToString::to_string);
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
            format!("panic: {}", message.unwrap_or_default())
        }
    };
    output.report(record.figure("error", error))?;
    Ok(None)
}
