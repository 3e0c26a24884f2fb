//! Progress of long work, as all programs show it.

pub(crate) use ogive_terminal::{PhasedProgress, Progress, Unit};
