//! The recursive model index (RMI): a root model that selects one of many leaf models, each of which predicts a
//! position.

use crate::models::locate::{Locate, mean_window_children};
use crate::models::tuning::EvaluatedSetting;
use ogive_model::Fence;
use std::ops::RangeInclusive;

mod leaf;
mod least_squares;
mod lines;
mod root;

use leaf::{LeafEnd, LeafModel};
pub use lines::lines;
use root::Root;
pub use root::RootKind;

/// Largest number of leaf models: 2 GiB of them.
pub const LEAVES_MAX: usize = 1 << 26;

/// The parameters of an RMI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RmiSetting {
    /// The kind of root model.
    pub root: RootKind,
    /// Number of linear leaf models; at most [`LEAVES_MAX`].
    pub leaves: usize,
}

/// Two layers of models: the root selects a leaf, the leaf predicts the children to search.
///
/// ```text
///   x -> root -> leaf number -> line of the leaf -> child, less and plus what the leaf was measured to miss by
/// ```
///
/// The root is monotone in every step of its arithmetic, so each leaf covers one range of keys, whatever the rounding;
/// the leaf only has to be correct for that range. A leaf is the regression line through the borders of its children,
/// with measured errors. A leaf without a border in its range leads to the one or two children around it.
///
/// Source: Kraska et al., "The Case for Learned Index Structures" (SIGMOD 2018), Section 3; with error bounds as in
/// Section 3.4, but for absent keys too.
///
/// ```
/// use ogive_model::Fence;
/// use ogive_research::models::{Locate, rmi::{Rmi, RootKind, RmiSetting}};
/// let keys: Vec<u64> = (0..100_000).map(|i| i * i).collect();
/// let fences: Vec<Fence> = keys.windows(2).map(|pair| Fence { low: pair[0], high: pair[1] }).collect();
/// let rmi = Rmi::build(&fences, RmiSetting { root: RootKind::Linear, leaves: 1000 });
/// let window = rmi.window(keys[77_777]);
/// assert!(window.contains(&77_777) && window.end() - window.start() < 10);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rmi {
    root: Root,
    leaves: Box<[LeafModel]>,
    end: LeafEnd,
    children: u64,
}

impl Rmi {
    /// Builds the structure for the children between the `fences`.
    pub fn build(fences: &[Fence], setting: RmiSetting) -> Self {
        let leaves = setting.leaves.clamp(1, LEAVES_MAX);
        let root = Root::train(fences, setting.root, leaves);
        let (leaves, end) = leaf::train(fences, &root, leaves);
        Self { root, leaves, end, children: fences.len() as u64 + 1 }
    }

    /// The root model.
    pub fn root(&self) -> RootKind {
        self.root.kind()
    }
}

impl Locate for Rmi {
    fn children(&self) -> u64 {
        self.children
    }

    fn leaves(&self) -> usize {
        self.leaves.len()
    }

    fn leaf_of(&self, x: u64) -> usize {
        self.root.leaf_of(x)
    }

    /// There are no inner nodes to skip: the root is a single formula.
    fn leaf_from(&self, _leaf: usize, x: u64) -> usize {
        self.root.leaf_of(x)
    }

    fn window_in(&self, leaf: usize, x: u64) -> RangeInclusive<u64> {
        let Some(model) = self.leaves.get(leaf) else { return 0..=self.children - 1 };
        model.window(x, self.leaves.get(leaf + 1).map_or(self.end, LeafModel::end_of_the_one_before))
    }

    fn resident_bytes(&self) -> u64 {
        (size_of::<Self>() + size_of_val(&*self.leaves)) as u64
    }
}

/// Largest number of children per leaf in the grid.
const CHILDREN_PER_LEAF_MAX: usize = 1 << 12;

/// Tries every root kind with numbers of leaves that double from one per 4,096 children to one per child, or to
/// `most_leaves`, for [`crate::models::tuning::pareto`].
///
/// Source: Marcus, Zhang and Kraska, "CDFShop: Exploring and Optimizing Learned Index Structures" (SIGMOD 2020): a grid
/// of models and branching factors. Their search also prunes and refines; a sequence of blocks is short enough to try
/// all.
pub fn try_settings(fences: &[Fence], most_leaves: usize) -> Vec<EvaluatedSetting<RmiSetting>> {
    let mut tried = Vec::new();
    for setting in settings(fences.len() + 1, most_leaves) {
        let rmi = Rmi::build(fences, setting);
        tried.push(EvaluatedSetting {
            setting,
            resident_bytes: rmi.resident_bytes(),
            search_width: mean_window_children(&rmi, fences),
        });
    }
    tried
}

/// The grid of settings for a number of children.
pub fn settings(children: usize, most_leaves: usize) -> impl Iterator<Item = RmiSetting> {
    let least = (children / CHILDREN_PER_LEAF_MAX).max(1).next_power_of_two();
    let most = children.min(most_leaves).clamp(1, LEAVES_MAX);
    let numbers = std::iter::successors(Some(least), |leaves| leaves.checked_mul(2)).take_while(move |&n| n <= most);
    numbers.flat_map(|leaves| RootKind::ALL.map(|root| RmiSetting { root, leaves }))
}
