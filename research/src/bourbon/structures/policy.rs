//! The learning policies of Bourbon.

use super::shape::{ModelShape, ShapeChoice};

/// The tables that get models (Bourbon, Sections 4.3 to 4.5 and 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearningRule {
    /// The baseline, as in LevelDB and WiscKey: the full last keys of all blocks, with restart points in them.
    Never,
    /// Learns the existing tables when [`Db::learn`](ogive::lsm::Db::learn) is called, and none later.
    Offline,
    /// Learns each table once it has lived for as long as learning takes.
    Always,
    /// Learns a table if the lookups it is expected to serve outweigh the cost, by the statistics of earlier tables.
    CostBenefit,
    /// Fits the model while the table is written. Tables without one are searched by their exact separators.
    Inline,
}

impl LearningRule {
    /// All rules, those of the paper first.
    pub const ALL: [Self; 5] = [Self::Never, Self::Offline, Self::Always, Self::CostBenefit, Self::Inline];

    /// The name of the policy in commands and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Offline => "offline",
            Self::Always => "always",
            Self::CostBenefit => "cost-benefit",
            Self::Inline => "inline",
        }
    }

    /// Whether tables are learned as they come.
    pub(super) fn is_eager(self) -> bool {
        matches!(self, Self::Always | Self::CostBenefit)
    }
}

/// The blocks that a lookup by a model reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelReads {
    /// The table's exact separators choose the block, and the model narrows the search within it: one block per lookup.
    #[default]
    Block,
    /// As in the paper: the model alone chooses, so two blocks are read if its window crosses a block border.
    Window,
}

/// What one model covers (Bourbon, Section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelScope {
    /// A table.
    #[default]
    Tables,
    /// A level. Tables of level 0 overlap, and have models of their own.
    Levels,
    /// A table, and in addition a level that changes rarely, compared with the time to learn it. The paper has a fixed
    /// choice and leaves this one to future work (Section 4.5).
    ByChange,
}

/// The lookups that a table is expected to serve, by which [`LearningRule::CostBenefit`] judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpectedLookups {
    /// As many as earlier tables of its level, in proportion to its size (Section 4.4.2).
    #[default]
    LikeLevel,
    /// As many per second as it has served so far, for as long as earlier tables of its level lived: a table of popular
    /// keys serves more. The paper leaves this one to future work (Section 4.4.2).
    LikeBefore,
}

/// A learning policy of a store: which tables get models, and how these are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bourbon {
    /// The tables that get models.
    pub rule: LearningRule,
    /// What one model covers.
    pub scope: ModelScope,
    /// The shape of the models of tables. Models of levels, and those that are stored with tables, are regressions.
    pub shape: ShapeChoice,
    /// The lookups that tables are expected to serve.
    pub expected: ExpectedLookups,
    /// The blocks that a lookup by a model reads.
    pub reads: ModelReads,
    /// Error bound of model segments, in records: smaller bounds need more segments, larger ones longer searches
    /// (Bourbon, Section 5.8).
    pub error: u64,
}

impl Bourbon {
    /// Models of tables, regressions with an error of 8 records, after the exact separators.
    #[must_use]
    pub const fn new(rule: LearningRule) -> Self {
        Self {
            rule,
            scope: ModelScope::Tables,
            shape: ShapeChoice::Fixed(ModelShape::Regression),
            expected: ExpectedLookups::LikeLevel,
            reads: ModelReads::Block,
            error: 8,
        }
    }
}
