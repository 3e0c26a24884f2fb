//! Options of a run of a paper.

use std::path::PathBuf;

use super::scale::Scale;
use crate::experiments::MemoryGauge;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct PaperOptions {
    /// Folder of the results, with a folder for each paper.
    pub folder: PathBuf,
    /// Size of the run.
    pub scale: Scale,
    /// Whether steps that ended with the same settings are not run again.
    pub resume: bool,
    /// Experiments of the steps that are run, with the results of former runs of the others; empty for all.
    pub only: Vec<String>,
    /// Structures of indexes, or programs, that are measured beside those that a step names.
    pub structures: Vec<String>,
    /// Folder of files of real keys, used in addition to generated sets.
    pub keys_folder: Option<PathBuf>,
    /// Folder on the device to measure; `None` for modelled times.
    pub device: Option<PathBuf>,
    /// The memory gauge, if the program has one.
    pub memory: Option<MemoryGauge>,
}
