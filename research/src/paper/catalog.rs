//! The catalogue of papers, and the claims on the figures of an experiment.

use super::plan::{Item, Paper};
use crate::airindex::claims::AIRINDEX;
use crate::aulid::claims::AULID;
use crate::bourbon::claims::BOURBON;
use crate::disk_indexes::claims::DISK_INDEXES;
use crate::joins::claims::JOINS;
use crate::{Error, Result};
use ogive_terminal::did_you_mean;

/// The papers, in the order of their history in this project.
pub fn papers() -> &'static [Paper] {
    const PAPERS: &[Paper] = &[AIRINDEX, AULID, DISK_INDEXES, BOURBON, JOINS];
    PAPERS
}

/// The paper of this name.
///
/// # Errors
/// If there is none, with the closest name.
pub fn named(name: &str) -> Result<&'static Paper> {
    papers().iter().find(|paper| paper.name == name).ok_or_else(|| {
        let hint = did_you_mean(name, papers().iter().map(|paper| paper.name));
        let hint = hint.unwrap_or_else(|| "`ogive-research paper list` names them".to_owned());
        Error::Paper { name: name.to_owned(), hint }
    })
}

/// What the papers say of the figures that an experiment repeats: paper and place, and the claim.
pub fn claims_of(experiment: &str) -> Vec<(String, &'static str)> {
    let mut claims = Vec::new();
    for paper in papers() {
        let is_about = |item: &&Item| item.steps.iter().any(|step| step.experiment == experiment);
        for item in paper.items.iter().filter(is_about) {
            claims.extend(item.claims.iter().map(|claim| (format!("{}, {}", paper.title, item.place), claim.says)));
        }
    }
    claims
}
