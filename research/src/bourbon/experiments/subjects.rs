//! The compared ways to learn.

use crate::bourbon::{Bourbon, ExpectedLookups, LearningRule, ModelReads, ModelScope, ModelShape, ShapeChoice};
use anyhow::Result;
use ogive::lsm::Learning;

use crate::experiments::Context;

/// A way to learn, with its name in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    /// The policy; `None` for exact separators only.
    pub(super) policy: Option<Bourbon>,
    /// Whether the loaded data are learned before the measurement.
    pub(super) learned: bool,
}

const fn subject(rule: LearningRule, name: &'static str, learned: bool) -> Subject {
    Subject { name, policy: Some(Bourbon::new(rule)), learned }
}

impl Subject {
    /// The policy as an option of a store.
    pub(super) fn learning(self) -> Learning {
        self.policy.map_or(Learning::CODED, Learning::from)
    }
}

/// Models made on request.
const OFFLINE: Bourbon = Bourbon::new(LearningRule::Offline);
/// Models made as tables come.
const EAGER: Bourbon = Bourbon::new(LearningRule::Always);
/// Models made where they pay.
const JUDGED: Bourbon = Bourbon::new(LearningRule::CostBenefit);

/// WiscKey: nothing is learned.
pub(super) const BASELINE: Subject = subject(LearningRule::Never, "never", false);
/// Bourbon on read-only workloads: a model per table, which alone chooses the blocks to read.
pub(super) const FILE: Subject =
    Subject { name: "file models", policy: Some(Bourbon { reads: ModelReads::Window, ..OFFLINE }), learned: true };
/// The same after exact separators, which choose the block.
pub(super) const FILE_IN_BLOCK: Subject = subject(LearningRule::Offline, "file models, in block", true);
/// Bourbon-level: a model for each level.
pub(super) const LEVEL: Subject = Subject {
    name: "level models",
    policy: Some(Bourbon { reads: ModelReads::Window, scope: ModelScope::Levels, ..OFFLINE }),
    learned: true,
};
/// The exact separators of the tables instead of models.
pub(super) const CODED: Subject = Subject { name: "coded", policy: None, learned: false };
/// The ways compared on read-only workloads.
pub(super) const READ_ONLY: [Subject; 5] = [BASELINE, FILE, FILE_IN_BLOCK, LEVEL, CODED];

/// File models that follow the writes.
pub(super) const ALWAYS: Subject = subject(LearningRule::Always, "always", true);
/// Level models that follow the writes.
pub(super) const ALWAYS_LEVEL: Subject =
    Subject { name: "always, levels", policy: Some(Bourbon { scope: ModelScope::Levels, ..EAGER }), learned: true };
/// Bourbon.
pub(super) const COST_BENEFIT: Subject = subject(LearningRule::CostBenefit, "cost-benefit", true);
/// Every way, the paper's first.
pub(super) const POLICIES: [Subject; 6] = [
    BASELINE,
    subject(LearningRule::Offline, "offline", true),
    ALWAYS,
    COST_BENEFIT,
    subject(LearningRule::Inline, "inline", false),
    CODED,
];

const fn shaped(name: &'static str, shape: ModelShape) -> Subject {
    Subject { name, policy: Some(Bourbon { shape: ShapeChoice::Fixed(shape), ..EAGER }), learned: true }
}

/// What the paper leaves to future work, each beside what it has: shapes of models (Section 4.1), models of tables or
/// levels by their rate of change (4.5), expected lookups by those before (4.4.2).
pub(super) const VARIANTS: [Subject; 13] = [
    BASELINE,
    ALWAYS,
    shaped("always, line", ModelShape::Line),
    shaped("always, spline", ModelShape::Spline),
    shaped("always, radix spline", ModelShape::RadixSpline),
    shaped("always, pgm", ModelShape::Pgm),
    shaped("always, rmi", ModelShape::Rmi),
    shaped("always, separators", ModelShape::Separators),
    Subject { name: "always, by cost", policy: Some(Bourbon { shape: ShapeChoice::ByCost, ..EAGER }), learned: true },
    ALWAYS_LEVEL,
    Subject {
        name: "always, by change",
        policy: Some(Bourbon { scope: ModelScope::ByChange, ..EAGER }),
        learned: true,
    },
    COST_BENEFIT,
    Subject {
        name: "cost-benefit, like before",
        policy: Some(Bourbon { expected: ExpectedLookups::LikeBefore, ..JUDGED }),
        learned: true,
    },
];

/// The subjects of `default` requested by their name or by that of their policy, else all.
pub(super) fn chosen(context: &Context, default: &[Subject]) -> Result<Vec<Subject>> {
    for name in &context.learning {
        if default.iter().all(|subject| subject.name != name) {
            Learning::named(name)?;
        }
    }
    let is_asked = |subject: &Subject| {
        let mut asked = context.learning.iter();
        context.learning.is_empty() || asked.any(|name| subject.name == name || subject.learning().name() == name)
    };
    Ok(default.iter().copied().filter(is_asked).collect())
}
