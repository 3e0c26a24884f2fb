//! The structures that an experiment compares. A failure of one does not affect the others.

use crate::{AirIndexOptions, AulidOptions};
use anyhow::{Result, anyhow};
use ogive::index::{IndexKind, IndexOptions};

use super::super::Context;
use super::programs::{is_program, refuse_programs};

/// An index to measure: a kind, or a named variant of one.
#[derive(Debug, Clone)]
pub(crate) struct IndexSubject {
    pub(crate) name: String,
    pub(crate) options: IndexOptions,
}

impl IndexSubject {
    /// A kind with default options.
    pub(crate) fn of(kind: IndexKind) -> Self {
        Self { name: kind.name().into(), options: IndexOptions::default().kind(kind) }
    }

    /// AULID under another name, with some of its options changed.
    pub(crate) fn aulid(name: &str, change: impl FnOnce(&mut AulidOptions)) -> Self {
        let mut subject = Self::of(crate::AULID);
        subject.name = name.into();
        let mut options = AulidOptions::default();
        change(&mut options);
        subject.options.tunables = options.tunables();
        subject
    }

    /// The updatable AirIndex with these options.
    pub(crate) fn airindex(options: AirIndexOptions) -> Self {
        let mut subject = Self::of(crate::AIRINDEX);
        subject.options.tunables = options.tunables();
        subject
    }

    /// Whether inserts change the structure in place, as opposed to a log-structured merge.
    pub(crate) fn updates_in_place(&self) -> bool {
        self.options.kind != crate::PGM
    }
}

/// The requested structures, else `default`, of an experiment that does not take programs.
pub(crate) fn subjects(context: &Context, default: &[IndexKind]) -> Result<Vec<IndexSubject>> {
    refuse_programs(context)?;
    subjects_beside_programs(context, default)
}

/// The requested structures that are no programs, else `default`.
pub(crate) fn subjects_beside_programs(context: &Context, default: &[IndexKind]) -> Result<Vec<IndexSubject>> {
    if context.structures.is_empty() {
        return Ok(default.iter().copied().map(IndexSubject::of).collect());
    }
    let parse = |name: &String| name.parse::<IndexKind>().map(IndexSubject::of).map_err(|error| anyhow!(error));
    context.structures.iter().filter(|name| !is_program(name)).map(parse).collect()
}
