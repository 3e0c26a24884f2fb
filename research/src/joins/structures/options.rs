//! The two optimisations of the paper (Section 4.1), as options of its probe methods.

use ogive::index::extend::Tunable;
use ogive::{Error, Result};

const LEAF_ITERATOR: u8 = 1;
const FORWARD_WINDOW: u8 = 2;

/// Options of the probe methods, for [`JoinOptions::tunables`](ogive::join::JoinOptions::tunables). `None` is the
/// default of the method: both for all but the B-tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeOptions {
    /// Optimisation 1: steps along the leaves of the index instead of descending from the root for each key.
    pub leaf_iterator: Option<bool>,
    /// Optimisation 2: windows never begin before the position of the last key.
    pub forward_window: Option<bool>,
}

impl ProbeOptions {
    /// The options as tunables of a join.
    #[must_use]
    pub fn tunables(self) -> Vec<Tunable> {
        let all = [(LEAF_ITERATOR, self.leaf_iterator), (FORWARD_WINDOW, self.forward_window)];
        all.into_iter().filter_map(|(tag, switch)| Some((tag, u64::from(switch?)))).collect()
    }

    /// The options of a join.
    ///
    /// # Errors
    /// [`Cause::Input`](ogive::Cause::Input) for tunables of other methods.
    pub(super) fn parse(tunables: &[Tunable]) -> Result<Self> {
        let mut options = Self::default();
        for &(tag, value) in tunables {
            let switch = match tag {
                LEAF_ITERATOR => &mut options.leaf_iterator,
                FORWARD_WINDOW => &mut options.forward_window,
                _ => return Err(Error::input(format!("a join by probes has no tunable {tag}"))),
            };
            *switch = Some(value != 0);
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::Cause;

    #[test]
    fn options_are_read_as_they_are_written() {
        let switches = [None, Some(false), Some(true)];
        for (leaf_iterator, forward_window) in switches.iter().flat_map(|one| switches.map(|other| (*one, other))) {
            let options = ProbeOptions { leaf_iterator, forward_window };
            assert_eq!(ProbeOptions::parse(&options.tunables()).unwrap(), options);
        }
        assert!(matches!(ProbeOptions::parse(&[(9, 0)]), Err(Error { cause: Cause::Input, .. })));
    }
}
