//! Registered methods that copy both relations before they are joined: the trait that other crates implement, and what
//! its method is given.

use super::plan::cost::JoinCost;
use super::plan::facts::JoinCostModel;
use super::relation::Relation;
use super::sort_progress::SortProgress;
use super::spill::Spill;
use crate::error::Result;
use std::fmt::{self, Debug};
use std::sync::Arc;

/// A join method that copies both relations to indexes; then one copy is scanned in key order, and the other one looks
/// its keys up.
///
/// It is a constant without state; [`JoinMethod::copy`](crate::join::JoinMethod::copy) makes a method of it.
pub trait CopyMethod: Debug + Sync {
    /// The name in options, commands and reports, like `partition:btree`: lowercase letters, digits, hyphens and
    /// colons.
    fn name(&self) -> &'static str;

    /// The predicted cost.
    ///
    /// # Errors
    /// The reason why the method cannot join these relations.
    fn cost(&self, model: &JoinCostModel<'_>) -> Result<JoinCost, String>;

    /// Copies both relations.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for relations that cannot be copied; errors of the
    /// job.
    fn copy(&self, job: &mut CopyJob<'_>) -> Result<[CopiedRelation; 2]>;
}

/// The inputs of a [`CopyMethod`]: both relations, memory, and a place for files.
pub struct CopyJob<'a> {
    pub(in crate::join) relations: [&'a Arc<dyn Relation>; 2],
    pub(in crate::join) spill: &'a Arc<Spill>,
    pub(in crate::join) memory_bytes: u64,
    pub(in crate::join) progress: SortProgress,
}

impl Debug for CopyJob<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CopyJob").field("memory_bytes", &self.memory_bytes).finish_non_exhaustive()
    }
}

/// A copy of a relation, made by [`CopyJob::copied`].
#[derive(Clone, Debug)]
pub struct CopiedRelation(pub(in crate::join) Arc<dyn Relation>);
