//! The error type of the crate. Every variant names its file or key set and says what to do.

use std::io;
use std::path::PathBuf;

use crate::external::ProgramFault;

/// Result of reading, generating or sampling keys.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of key sets or workloads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the system.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action, as a verb phrase.
        action: &'static str,
        /// The file it was tried on.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The name of a key set or a workload does not parse.
    #[error("{spec:?}: {detail}")]
    Spec {
        /// The request.
        spec: String,
        /// The error, and what would be right.
        detail: String,
    },
    /// A generator cannot make the requested number of keys.
    #[error("{spec}: {detail}")]
    TooManyKeys {
        /// The key set.
        spec: String,
        /// The limit of the generator.
        detail: String,
    },
    /// A registered key set whose name is taken or no name, or that yields other keys than it states.
    #[error("key set {name:?}: {detail}")]
    Generator {
        /// Its name.
        name: String,
        /// The error, and what would be right.
        detail: String,
    },
    /// A program that is measured as a subject fails, or answers wrongly.
    #[error("program `{program}` {fault}")]
    Program {
        /// Its command.
        program: String,
        /// What is wrong with it.
        fault: ProgramFault,
    },
    /// A program that fetching needs cannot be run.
    #[error("cannot run {tool}: {source}; install it, or make the file as docs/data-sets.md describes")]
    Tool {
        /// The program.
        tool: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Data of a real key set cannot be downloaded or unpacked.
    #[error("cannot fetch {url}: {reason}; check the network, or give the address of a copy with --from")]
    Fetch {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The file made of the data of a real key set is another one.
    #[error("the file of {name} would have checksum {found} instead of {expected}: its source has changed")]
    Digest {
        /// The key set.
        name: String,
        /// The checksum of the file that the documents use.
        expected: String,
        /// The checksum of the file that was made.
        found: String,
    },
    /// A SOSD file is too short to hold even its count.
    #[error("{} has {length_bytes} bytes, but a SOSD file starts with a count of 8 bytes", path.display())]
    SosdHeader {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length_bytes: u64,
    },
    /// A SOSD file whose length does not match its count: truncated, with a tail, or of another format.
    #[error(
        "{} states {count} keys, which take {expected_bytes} bytes, but has {found_bytes}; copy it again, or check \
         that its keys are 8 bytes wide",
        path.display()
    )]
    SosdLength {
        /// The file.
        path: PathBuf,
        /// Number of keys that its first 8 bytes state.
        count: u64,
        /// Length in bytes that such a file has.
        expected_bytes: u128,
        /// Length in bytes that it has.
        found_bytes: u64,
    },
    /// A file has a line that is no record of an experiment.
    #[error("{}, line {line}: {reason}; give what `ogive-research --json run` printed", path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 for the whole file.
        line: usize,
        /// The error.
        reason: String,
    },
    /// A folder without records.
    #[error(
        "no file of {} ends in .json or .jsonl; write one with `ogive-research --json run NAME > FILE.json`",
        path.display()
    )]
    NoRuns {
        /// The folder.
        path: PathBuf,
    },
    /// A picture that the records do not give.
    #[error("no picture {name:?}; {hint}")]
    Picture {
        /// The request.
        name: String,
        /// The pictures there are.
        hint: String,
    },
    /// A paper that there is not.
    #[error("no paper {name:?}; {hint}")]
    Paper {
        /// The request.
        name: String,
        /// The closest name, or where the names are.
        hint: String,
    },
    /// An experiment that is no step of the chosen papers.
    #[error("no step {name:?}; {hint}")]
    Step {
        /// The request.
        name: String,
        /// The closest name, or where the names are.
        hint: String,
    },
    /// A folder has results of a former run of a paper.
    #[error("{} has results; continue them with --resume, or give another --folder", path.display())]
    PaperResults {
        /// The folder.
        path: PathBuf,
    },
    /// A folder has results of another scale.
    #[error(
        "{} has results of scale {found}, and {asked} was asked for; give --scale {found}, or another --folder",
        path.display()
    )]
    PaperScale {
        /// The folder.
        path: PathBuf,
        /// The scale of its results.
        found: String,
        /// The requested scale.
        asked: &'static str,
    },
    /// Another run is writing its results to a folder.
    #[error("another run writes to {}; wait for its end, or give another --folder", path.display())]
    PaperBusy {
        /// The folder.
        path: PathBuf,
    },
    /// The keys of a file are not in ascending order.
    #[error("{}: key {index} is smaller than the previous one; sort the file{}", path.display(), hint)]
    Unsorted {
        /// The file.
        path: PathBuf,
        /// Number of the first key that is out of order, counted from 0.
        index: u64,
        /// A command that sorts it, if there is one.
        hint: &'static str,
    },
    /// Integers were requested from a set of strings, or strings from a set of integers.
    #[error("{name} holds {holds}; this needs {needs}")]
    KeyKind {
        /// The key set.
        name: String,
        /// Type of its keys.
        holds: &'static str,
        /// The request.
        needs: &'static str,
    },
    /// A workload cannot be drawn from this key set.
    #[error("{name}: {detail}")]
    NoLookups {
        /// The key set.
        name: String,
        /// Why, and what to use instead.
        detail: String,
    },
    /// A file exists that would be overwritten.
    #[error("{} exists; remove it, or use --force to replace it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    /// An [`Error::Io`] for `action` on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }

    /// An [`Error::Spec`] about `spec`.
    pub fn spec(spec: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Spec { spec: spec.into(), detail: detail.into() }
    }
}

/// The message of an error with its causes, each once: some messages include their cause.
pub(crate) fn with_causes(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .reduce(|told, cause| if told.contains(&format!(": {cause}")) { told } else { format!("{told}: {cause}") })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_that_the_message_includes_is_told_once() {
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let error = anyhow::Error::from(ogive::Error::io("create", "k.u64", denied()));
        assert_eq!(with_causes(&error), "cannot create k.u64: permission denied (check the permissions)");
        let error = Err::<(), _>(denied()).context("no keys").unwrap_err();
        assert_eq!(with_causes(&error), "no keys: permission denied");
    }
}
