//! Steps: experiments with their settings by scale.

use std::path::Path;

use super::options::PaperOptions;
use super::scale::Scale;
use crate::experiments::{Context, Experiment, experiments, is_program, takes_programs};

/// An experiment with the settings of a paper.
#[derive(Debug)]
pub struct Step {
    /// Name of the experiment.
    pub experiment: &'static str,
    /// Seconds at small scale. Only their proportions matter, for the estimate of the remaining time.
    pub(crate) weight_s: f64,
    /// Files of real keys that are used in addition, where the folder of real keys has them.
    real_keys: &'static [&'static str],
    settings: fn(Scale) -> Context,
}

impl Step {
    /// An experiment, its seconds at small scale, and its settings.
    pub(crate) const fn new(experiment: &'static str, weight_s: f64, settings: fn(Scale) -> Context) -> Self {
        Self { experiment, weight_s, real_keys: &[], settings }
    }

    /// With these files of real keys as well.
    pub(crate) const fn real_keys(self, real_keys: &'static [&'static str]) -> Self {
        Self { real_keys, ..self }
    }

    /// Name of the file of its records, as the step of this number.
    pub fn file_name(&self, number: usize) -> String {
        format!("{number:02}-{}.jsonl", self.experiment.replace('/', "-"))
    }

    /// The experiment; `None` if the registry has none of this name, which a test excludes.
    pub fn found(&self) -> Option<&'static Experiment> {
        experiments().iter().find(|experiment| experiment.name == self.experiment)
    }

    /// The settings of a run.
    pub fn context(&self, options: &PaperOptions) -> Context {
        let mut context = (self.settings)(options.scale);
        if let Some(folder) = &options.keys_folder {
            context.key_sets.extend(self.real_keys_in(folder));
        }
        let added = options.structures.iter().filter(|name| self.takes(name, options.scale));
        context.structures.extend(added.cloned());
        context.device.clone_from(&options.device);
        context.modelled_only = options.device.is_none();
        context.memory = options.memory;
        context
    }

    /// Whether a choice of experiments has it; an empty choice has all.
    pub fn is_among(&self, only: &[String]) -> bool {
        only.is_empty() || only.iter().any(|name| name == self.experiment)
    }

    /// Whether it measures a structure or program beside those that it names.
    pub fn takes(&self, structure: &str, scale: Scale) -> bool {
        let names_some = !(self.settings)(scale).structures.is_empty();
        names_some && (takes_programs(self.experiment) || !is_program(structure))
    }

    /// The files of real keys that a folder has.
    fn real_keys_in(&self, folder: &Path) -> impl Iterator<Item = String> {
        let paths = self.real_keys.iter().map(move |name| folder.join(name));
        paths.filter(|path| path.is_file()).map(|path| path.to_string_lossy().into_owned())
    }
}

/// Generated sets of this number of keys.
pub(crate) fn keys(count: u64) -> Context {
    Context { count, asked_count: Some(count), ..Context::default() }
}

/// Names as a setting.
pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}
