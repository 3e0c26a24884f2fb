//! Sketches by experiment.

use super::sketch::Sketch;
use crate::{airindex, aulid, bourbon, disk_indexes, joins};

/// The sketches of an experiment.
pub(crate) fn of(experiment: &str) -> impl Iterator<Item = &'static Sketch> {
    let all = [
        airindex::sketches::SKETCHES,
        aulid::sketches::SKETCHES,
        disk_indexes::sketches::SKETCHES,
        bourbon::sketches::SKETCHES,
        joins::sketches::SKETCHES,
    ];
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
