//! Pages touched by operations, and those still read when upper nodes are resident.

use std::collections::{BTreeMap, BTreeSet};

use ogive::io::Purpose;

use super::super::Resident;

/// The role of a page in a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// An inner node at this depth; that of the root is 0.
    Inner(u8),
    /// A node with entries.
    Leaf,
    /// Not a node.
    Other,
}

impl Role {
    /// The role for the purpose of a read.
    pub(crate) fn of(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Inner(depth) => Self::Inner(depth),
            Purpose::Leaf => Self::Leaf,
            _ => Self::Other,
        }
    }
}

/// The distinct pages touched by each operation, in order.
///
/// Nothing is resident while they are collected, so that any set of resident pages can be evaluated afterwards without
/// another run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Touches {
    pages: Vec<(u64, Role)>,
    /// The end of each operation in `pages`.
    ends: Vec<usize>,
}

impl Touches {
    /// The pages of one more operation, in the order of their reads; repeats count once, under the first role.
    pub(crate) fn push(&mut self, pages: impl IntoIterator<Item = (u64, Role)>) {
        let start = self.pages.len();
        for (page, role) in pages {
            if !self.pages[start..].iter().any(|(known, _)| *known == page) {
                self.pages.push((page, role));
            }
        }
        self.ends.push(self.pages.len());
    }

    /// Number of operations.
    pub(crate) fn operations(&self) -> usize {
        self.ends.len()
    }

    /// The resident pages, by depth and then by first request. Nodes that hold entries are never resident.
    pub(crate) fn resident(&self, limit: Resident, page_bytes: u64) -> BTreeSet<u64> {
        let mut depths: BTreeMap<u64, (u8, usize)> = BTreeMap::new();
        for (order, &(page, role)) in self.pages.iter().enumerate() {
            if let Role::Inner(depth) = role {
                depths.entry(page).or_insert((depth, order));
            }
        }
        let mut pages: Vec<(u8, usize, u64)> =
            depths.into_iter().map(|(page, (depth, order))| (depth, order, page)).collect();
        pages.sort_unstable();
        pages.into_iter().take(limit.pages(page_bytes)).map(|(.., page)| page).collect()
    }

    /// Mean pages per operation that are not resident. Under [`Resident::All`] no page of an inner node counts, even if
    /// these operations did not touch it.
    pub(crate) fn per_operation(&self, limit: Resident, resident: &BTreeSet<u64>) -> f64 {
        let fetched = self.pages.iter().filter(|(page, role)| match (role, limit) {
            (Role::Inner(_), Resident::All) => false,
            (Role::Inner(_), Resident::Bytes(_)) => !resident.contains(page),
            _ => true,
        });
        fetched.count() as f64 / self.ends.len().max(1) as f64
    }

    /// Mean pages per operation: of inner nodes, and all others.
    pub(crate) fn inner_and_leaf(&self) -> (f64, f64) {
        let inner = self.pages.iter().filter(|(_, role)| matches!(role, Role::Inner(_))).count();
        let count = self.ends.len().max(1) as f64;
        (inner as f64 / count, (self.pages.len() - inner) as f64 / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INNER: [Role; 2] = [Role::Inner(0), Role::Inner(1)];

    /// Two lookups through a root and two inner nodes; the second touches its leaf twice.
    fn touches() -> Touches {
        let mut touches = Touches::default();
        touches.push([(1, INNER[0]), (2, INNER[1]), (10, Role::Leaf)]);
        touches.push([(1, INNER[0]), (3, INNER[1]), (11, Role::Leaf), (11, Role::Leaf), (12, Role::Leaf)]);
        touches
    }

    #[test]
    fn resident_pages_are_the_top_of_the_tree_first() {
        let touches = touches();
        let fetched = |limit| touches.per_operation(limit, &touches.resident(limit, 4096));
        assert_eq!(fetched(Resident::Bytes(0)), 3.5);
        assert_eq!(fetched(Resident::Bytes(4096)), 2.5);
        assert_eq!(fetched(Resident::Bytes(8192)), 2.0);
        assert_eq!(fetched(Resident::Bytes(1 << 20)), 1.5);
        assert_eq!(fetched(Resident::All), 1.5);
        assert_eq!(touches.resident(Resident::Bytes(8192), 4096), [1, 2].into());
        assert_eq!(touches.inner_and_leaf(), (2.0, 1.5));
    }
}
