//! Pictures by name.

use super::draw::{self, Picture};
use super::sketch::Sketch;
use super::{Run, registry};
use crate::{Error, Result};
use ogive_terminal::did_you_mean;

/// The picture of this name as SVG, for a document.
///
/// # Errors
/// If there is no such picture, or the runs have no records for it.
pub fn picture(runs: &[Run], name: &str) -> Result<String> {
    let pictures: Vec<Picture> = runs.iter().flat_map(|run| run.pictures()).collect();
    if let Some(picture) = pictures.iter().find(|picture| picture.name == name) {
        return Ok(picture.to_file());
    }
    let hint = did_you_mean(name, pictures.iter().map(|picture| picture.name.as_str()));
    let hint = hint.unwrap_or_else(|| {
        let names: Vec<&str> = pictures.iter().map(|picture| picture.name.as_str()).collect();
        format!("there are: {}", names.join(", "))
    });
    Err(Error::Picture { name: name.to_owned(), hint })
}

impl Run {
    /// The pictures of the experiments of this run.
    fn pictures(&self) -> Vec<Picture> {
        self.experiments().iter().flat_map(|experiment| self.pictures_of(experiment)).collect()
    }

    /// The pictures of one experiment.
    pub(super) fn pictures_of(&self, experiment: &str) -> Vec<Picture> {
        let rows = self.rows_of(experiment);
        registry::of(experiment).flat_map(|sketch: &Sketch| draw::pictures(sketch, &rows)).collect()
    }
}
