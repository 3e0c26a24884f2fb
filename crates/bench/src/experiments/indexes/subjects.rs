//! The structures that an experiment compares. A failure of one does not affect the others.

use anyhow::{Result, anyhow};
use ogive::index::{IndexKind, IndexOptions};
use ogive_papers::{AirIndexOptions, AulidOptions};

use super::super::Context;
use super::programs::{is_program, refuse_programs};

/// An index to measure: a kind, or a named variant of one.
#[derive(Debug, Clone)]
pub(in crate::experiments) struct IndexSubject {
    pub(in crate::experiments) name: String,
    pub(in crate::experiments) options: IndexOptions,
}

impl IndexSubject {
    /// A kind with default options.
    pub(in crate::experiments) fn of(kind: IndexKind) -> Self {
        Self { name: kind.name().into(), options: IndexOptions::default().kind(kind) }
    }

    /// AULID under another name, with some of its options changed.
    pub(in crate::experiments) fn aulid(name: &str, change: impl FnOnce(&mut AulidOptions)) -> Self {
        let mut subject = Self::of(ogive_papers::AULID);
        subject.name = name.into();
        let mut options = AulidOptions::default();
        change(&mut options);
        subject.options.tunables = options.tunables();
        subject
    }

    /// The updatable AirIndex with these options.
    pub(in crate::experiments) fn airindex(options: AirIndexOptions) -> Self {
        let mut subject = Self::of(ogive_papers::AIRINDEX);
        subject.options.tunables = options.tunables();
        subject
    }

    /// Whether inserts change the structure in place, as opposed to a log-structured merge.
    pub(in crate::experiments) fn updates_in_place(&self) -> bool {
        self.options.kind != ogive_papers::PGM
    }
}

/// The requested structures, else `default`, of an experiment that does not take programs.
pub(in crate::experiments) fn subjects(context: &Context, default: &[IndexKind]) -> Result<Vec<IndexSubject>> {
    refuse_programs(context)?;
    subjects_beside_programs(context, default)
}

/// The requested structures that are no programs, else `default`.
pub(in crate::experiments) fn subjects_beside_programs(
    context: &Context,
    default: &[IndexKind],
) -> Result<Vec<IndexSubject>> {
    if context.structures.is_empty() {
        return Ok(default.iter().copied().map(IndexSubject::of).collect());
    }
    let parse = |name: &String| name.parse::<IndexKind>().map(IndexSubject::of).map_err(|error| anyhow!(error));
    context.structures.iter().filter(|name| !is_program(name)).map(parse).collect()
}
