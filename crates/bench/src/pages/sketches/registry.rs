//! Sketches by experiment.

use super::super::sketch::Sketch;
use super::{airindex, aulid, bourbon, disk, joins};

/// The sketches of an experiment.
pub(in crate::pages) fn of(experiment: &str) -> impl Iterator<Item = &'static Sketch> {
    let all = [airindex::SKETCHES, aulid::SKETCHES, disk::SKETCHES, bourbon::SKETCHES, joins::SKETCHES];
    all.into_iter().flatten().filter(move |sketch| sketch.experiment == experiment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::papers;

    #[test]
    fn every_step_of_a_paper_is_drawn() {
        for step in papers().iter().flat_map(|paper| paper.steps()) {
            assert!(of(step.experiment).next().is_some(), "{} has no sketch", step.experiment);
        }
    }
}
