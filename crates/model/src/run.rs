//! A run of fences: the input of the node builders.

use crate::Fence;

/// A run of neighbouring children and the fences between them: the whole sequence, or a part that is built separately.
///
/// ```text
///   start                                                        start of the next run
///     |  child 7   |f0|  child 8   |f1|  child 9   |f2|  (child 10: next run)
///     first_child = 7, fences = [f0, f1, f2], at_end = false: owns the children 7, 8 and 9
/// ```
///
/// The concatenated nodes of neighbouring runs are the nodes of the whole sequence: a run's last node reaches both
/// sides of the run's last fence, and the next run starts where that gap ends.
///
/// ```
/// use ogive_model::{Fence, FenceRun};
/// let fences: Vec<Fence> = (1..100).map(|i| Fence { low: 10 * i - 1, high: 10 * i }).collect();
/// let runs = FenceRun::split(&fences, 4);
/// assert_eq!(runs.iter().map(|run| run.children()).sum::<u64>(), 100);
/// assert_eq!(runs[1].start, 10 * runs[1].first_child);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FenceRun<'a> {
    /// Smallest key of the first node: 0 for the first run.
    pub start: u64,
    /// Number of the first child.
    pub first_child: u64,
    /// `fences[k]` lies between child `first_child + k` and the next one. Unless the run is the last, the last fence
    /// borders the first child of the next run.
    pub fences: &'a [Fence],
    /// Whether the sequence ends with the child after the last fence.
    pub at_end: bool,
}

impl<'a> FenceRun<'a> {
    /// The whole sequence of `fences.len() + 1` children.
    pub fn whole(fences: &'a [Fence]) -> Self {
        FenceRun { start: 0, first_child: 0, fences, at_end: true }
    }

    /// Splits the sequence into at most `runs` runs of about equal length, at fences where a node may begin.
    pub fn split(fences: &'a [Fence], runs: usize) -> Vec<Self> {
        let mut rest = FenceRun::whole(fences);
        let share = (fences.len() / runs.max(1)).max(1);
        let mut parts = Vec::new();
        while parts.len() + 1 < runs && rest.fences.len() > share {
            let Some((cut, start)) = (share - 1..rest.fences.len()).find_map(|k| Some((k, rest.node_start_after(k)?)))
            else {
                break;
            };
            parts.push(FenceRun { fences: &rest.fences[..=cut], at_end: false, ..rest });
            rest.first_child += cut as u64 + 1;
            rest.fences = &rest.fences[cut + 1..];
            rest.start = start;
        }
        parts.push(rest);
        parts
    }

    /// Number of children that the nodes of this run own.
    pub fn children(&self) -> u64 {
        self.fences.len() as u64 + u64::from(self.at_end)
    }

    /// The smallest key of a node that begins right of fence `k`; `None` if no node may begin there.
    ///
    /// If equal keys fill several children, nodes at all their borders would start with the same key; only the last of
    /// them may, so that starts ascend strictly and the previous node ends where the run of equal keys begins.
    pub fn node_start_after(&self, k: usize) -> Option<u64> {
        let start = self.fences.get(k)?.start()?;
        let repeated = self.fences.get(k + 1).is_some_and(|next| next.start() == Some(start));
        (start > self.start && !repeated).then_some(start)
    }

    /// The start of the first node's line. At the beginning of the sequence that is the last key of the first child:
    /// all keys before it lead to that child, and the distance from 0 to the first key would only bend the line.
    pub fn line_start(&self) -> u64 {
        if self.start > 0 { self.start } else { self.fences.first().map_or(0, |fence| fence.low) }
    }

    /// The first border at or after child `end`, where a node may begin or the run ends. Children are counted from the
    /// run's first.
    pub fn border_from(&self, end: usize) -> usize {
        let children = self.fences.len() + usize::from(self.at_end);
        (end.max(1)..children).find(|&end| self.node_start_after(end - 1).is_some()).unwrap_or(children)
    }

    /// The last border after child `from` and at or before child `end`.
    pub fn border_before(&self, from: usize, end: usize) -> Option<usize> {
        if end >= self.fences.len() + usize::from(self.at_end) {
            return Some(end);
        }
        (from + 1..=end).rev().find(|&end| self.node_start_after(end - 1).is_some())
    }
}
