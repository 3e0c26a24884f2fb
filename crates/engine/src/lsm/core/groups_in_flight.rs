//! The groups that are logged, but not applied, on an object store.

use super::writer::WriteGroup;
use crate::io::local::sync::{Condvar, Mutex};
use crate::lsm::objects::PartInFlight;
use crate::lsm::state::entry::Sequence;
use std::collections::VecDeque;
use std::sync::Arc;

/// The groups that are logged, but not applied, oldest first.
#[derive(Debug, Default)]
pub(in crate::lsm) struct GroupsInFlight {
    pub(in crate::lsm) groups: Mutex<VecDeque<GroupInFlight>>,
    /// Signalled when a part is there, or has failed, and when groups were applied.
    pub(in crate::lsm) changed: Condvar,
}

#[derive(Debug)]
pub(in crate::lsm) struct GroupInFlight {
    pub(in crate::lsm) group: WriteGroup,
    pub(in crate::lsm) last: Sequence,
    pub(in crate::lsm) batches: u64,
    pub(in crate::lsm) state: Arc<Mutex<GroupState>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsm) enum GroupState {
    Put,
    /// Its part is there.
    Durable,
    /// Its part failed, or one before it.
    Failed,
    Applied,
}

/// A group that its writer is to put.
#[derive(Debug)]
pub(in crate::lsm) struct BegunGroup {
    pub(in crate::lsm) part: Option<PartInFlight>,
    pub(in crate::lsm) state: Arc<Mutex<GroupState>>,
}
