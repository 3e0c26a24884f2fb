//! The plan of a paper: its figures and tables, the steps that repeat them, and the claims that are judged.

use super::rows::Rows;
use super::scale::Scale;
use super::step::Step;
use super::verdict::Verdict;

/// A paper.
#[derive(Debug)]
pub struct Paper {
    /// Its name in commands.
    pub name: &'static str,
    /// Its name in pages.
    pub title: &'static str,
    /// Authors, title, venue.
    pub citation: &'static str,
    /// First part of the names of its experiments.
    pub(crate) family: &'static str,
    /// The document with our figures at medium scale and our deviations.
    pub document: &'static str,
    /// Figures and tables that explain and measure nothing, which have no item.
    pub explanatory: &'static [&'static str],
    /// Figures, tables and sections with results.
    pub items: &'static [Item],
}

/// A figure, table or section with results of a paper.
#[derive(Debug)]
pub struct Item {
    /// Where it stands, such as `Figure 9`.
    pub place: &'static str,
    /// What it shows, in one line.
    pub shows: &'static str,
    /// The steps that repeat it.
    pub steps: &'static [&'static Step],
    /// What the paper says of it.
    pub claims: &'static [Claim],
}

/// A statement of a paper, and the function that judges it.
#[derive(Debug)]
pub struct Claim {
    /// What the paper says.
    pub says: &'static str,
    basis: Basis,
    judge: fn(&Rows<'_>) -> Option<Verdict>,
}

/// The kind of figures that a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    /// Counts and modelled times, at any scale.
    Counts,
    /// Counts and modelled times of indexes with several layers.
    Layers,
    /// Measured times.
    Times,
    /// Nothing that is run here.
    Nothing(&'static str),
}

impl Paper {
    /// The steps in the order of the items, each once.
    pub fn steps(&self) -> Vec<&'static Step> {
        let mut steps: Vec<&'static Step> = Vec::new();
        for &step in self.items.iter().flat_map(|item| item.steps) {
            if steps.iter().all(|known| known.experiment != step.experiment) {
                steps.push(step);
            }
        }
        steps
    }
}

/// A claim that is judged by counts or modelled times.
pub(crate) const fn counts(says: &'static str, judge: fn(&Rows<'_>) -> Option<Verdict>) -> Claim {
    Claim { says, basis: Basis::Counts, judge }
}

/// A claim that is judged by counts or modelled times, which need keys for several layers of index.
pub(crate) const fn layers(says: &'static str, judge: fn(&Rows<'_>) -> Option<Verdict>) -> Claim {
    Claim { says, basis: Basis::Layers, judge }
}

/// A claim that is judged by measured times.
pub(crate) const fn times(says: &'static str, judge: fn(&Rows<'_>) -> Option<Verdict>) -> Claim {
    Claim { says, basis: Basis::Times, judge }
}

/// A claim without anything to compare, and why.
pub(crate) const fn quoted(says: &'static str, reason: &'static str) -> Claim {
    Claim { says, basis: Basis::Nothing(reason), judge: |_| None }
}

impl Claim {
    /// The verdict by these records of a run of this scale.
    pub fn verdict(&self, scale: Scale, rows: &Rows<'_>) -> Verdict {
        let none = |reason: &str| Verdict::NotComparable(reason.to_owned());
        match (self.basis, scale) {
            (Basis::Nothing(reason), _) => none(reason),
            (Basis::Layers, Scale::Small) => none("an index of few keys has hardly a layer"),
            (Basis::Times, Scale::Small) => none("a run of this scale is too short to time"),
            _ => (self.judge)(rows).unwrap_or_else(|| none("the steps gave no figures for it")),
        }
    }
}
