//! Errors of the command, with their hints and exit codes.

use crate::input::InputError;
use ogive::{Cause, Error};
#[cfg(feature = "parquet")]
use ogive_parquet::ParquetVoice;
use std::io;
use std::path::Path;

/// The exit code of commands that were interrupted: 128 and the number of the signal.
pub(crate) const INTERRUPTED: u8 = 130;

/// The longest value of all. No option raises it.
pub(crate) const VALUE_BYTES_MAX: u64 = 1 << 30;

/// Result of a command, or of a part of one.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error that stops a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An argument that the parser cannot check by itself, such as a key that does not fit the table's type.
    #[error("{message}")]
    Usage {
        /// The error.
        message: String,
        /// The correct usage.
        hint: String,
    },
    /// The input file cannot be used.
    #[error(transparent)]
    Input(InputError),
    /// An error of the engine; its message says what to do.
    #[error("{}", crate::advice::message(.0))]
    Engine(#[from] Error),
    /// An error of an index of Parquet files; its message says what to do.
    #[cfg(feature = "parquet")]
    #[error("{}", .0.message_in(&crate::voice::Command))]
    Beside(Box<ogive_parquet::ParquetIndexError>),
    /// A file or folder of the command itself cannot be used.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// A verb phrase: "create", "read".
        action: &'static str,
        /// The file, as given.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A request that the command refuses.
    #[error("{message}")]
    Refused {
        /// The file and what is wrong with it.
        message: String,
        /// The alternative.
        hint: String,
    },
    /// Changes that were not applied, since a key does not have the value that is expected.
    #[error("{message}")]
    Conflict {
        /// The store, the keyspace and the key.
        message: String,
        /// The name of the keyspace.
        keyspace: String,
        /// The key.
        key: serde_json::Value,
    },
    /// An interrupt after which the command can go on in a certain way.
    #[error("interrupted")]
    Interrupted {
        /// How to go on.
        hint: String,
    },
    /// A failure after part of the work was done.
    #[error("{failure}; {done}")]
    Partial {
        /// The failure.
        failure: Box<Failure>,
        /// The part of the work that remains, if any.
        done: String,
    },
    /// A failed write to standard output, other than to a closed pipe.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// The reader of standard output has closed it, as `head` does. Not an error.
    #[error("standard output was closed")]
    ClosedPipe,
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Io { source, .. } if is_interrupt(&source) => Self::Engine(Error::interrupted()),
            error => Self::Input(error),
        }
    }
}

impl Failure {
    /// A [`Failure::Usage`].
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    /// A [`Failure::Refused`].
    pub(crate) fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), hint: hint.into() }
    }

    /// The failure to open the table at a path. If what is missing is the data that an external index is of, says so.
    pub(crate) fn of_opening(path: &Path, error: Error) -> Self {
        let data = error.path().filter(|data| data.file_name() != path.file_name()).map(Path::to_owned);
        let (Cause::Io(io::ErrorKind::NotFound), Some(data)) = (error.cause, data) else { return error.into() };
        let data = data.strip_prefix(".").unwrap_or(&data).display();
        Self::refused(
            format!("{} is an index of the data in {data}, and that is not there", path.display()),
            "put the data back beside the index, under the name and with the content that they had",
        )
    }

    /// What a conflict is about, as an object.
    pub(crate) fn conflict(&self) -> Option<serde_json::Value> {
        match self {
            Self::Partial { failure, .. } => failure.conflict(),
            Self::Conflict { keyspace, key, .. } => Some(serde_json::json!({ "keyspace": keyspace, "key": key })),
            _ => None,
        }
    }

    /// Adds what remains of the work done so far. A closed pipe stays a closed pipe.
    pub(crate) fn but(self, done: impl Into<String>) -> Self {
        match self {
            Self::ClosedPipe => self,
            failure => Self::Partial { failure: Box::new(failure), done: done.into() },
        }
    }

    /// Tells a closed pipe from other failed writes to standard output.
    pub(crate) fn from_output(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Output(source),
        }
    }

    /// Unwraps the engine's own error from a value that is read as a stream.
    pub(crate) fn from_value(source: io::Error) -> Self {
        match source.downcast::<Error>() {
            Ok(error) => Self::Engine(error),
            Err(source) => Self::File { action: "read", path: "the value".into(), source },
        }
    }

    /// The exit code: 2 for wrong usage, 0 for a closed pipe, 130 for an interrupt as in shells, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Partial { failure, .. } => failure.exit_code(),
            // The engine parses some options, such as the name of a design.
            Self::Usage { .. } | Self::Engine(Error { cause: Cause::Input, .. }) => 2,
            Self::Engine(Error { cause: Cause::Interrupted, .. }) | Self::Interrupted { .. } => INTERRUPTED,
            _ => 1,
        }
    }

    /// Advice, if the message does not already give it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Usage { hint, .. } | Self::Refused { hint, .. } | Self::Interrupted { hint } => Some(hint.clone()),
            Self::Conflict { .. } => Some("read the key again, and write the changes by what it has now".into()),
            Self::Input(error) => error.hint(),
            Self::Partial { failure, .. } => failure.hint(),
            Self::File { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Some("check the path".into()),
                io::ErrorKind::PermissionDenied => Some("check the permissions".into()),
                io::ErrorKind::StorageFull => Some("free some space, then try again".into()),
                _ => None,
            },
            Self::Engine(error) => crate::advice::advice(error),
            #[cfg(feature = "parquet")]
            Self::Beside(error) => match &**error {
                ogive_parquet::ParquetIndexError::Engine(error) => crate::advice::advice(error),
                error => error.remedy().and_then(|remedy| crate::voice::Command.advise_on_parquet(&remedy)),
            },
            _ => None,
        }
    }
}

/// Whether an interrupt ended the read of an input.
fn is_interrupt(source: &io::Error) -> bool {
    let inner = source.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    matches!(inner, Some(Error { cause: Cause::Interrupted, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wrong_usage_exits_with_two_and_a_closed_pipe_is_no_error() {
        assert_eq!(Failure::usage("no", "yes").exit_code(), 2);
        assert_eq!(Failure::refused("no", "yes").exit_code(), 1);
        assert_eq!(Failure::from(Error::interrupted()).but("7 rows are durable").exit_code(), 130);
        let interrupted = Failure::Interrupted { hint: "load the rest".into() }.but("7 rows are durable");
        assert_eq!((interrupted.exit_code(), interrupted.hint().as_deref()), (130, Some("load the rest")));
        assert_eq!(Failure::from_output(io::ErrorKind::BrokenPipe.into()).exit_code(), 0);
        assert_eq!(Failure::from_output(io::ErrorKind::StorageFull.into()).exit_code(), 1);
    }

    #[test]
    fn what_was_done_before_a_failure_is_told_behind_it() {
        let failure = Failure::usage("no", "yes").but("7 rows are durable");
        assert_eq!((failure.to_string().as_str(), failure.exit_code()), ("no; 7 rows are durable", 2));
        assert_eq!(failure.hint().as_deref(), Some("yes"));
        assert_eq!(Failure::ClosedPipe.but("7 rows are durable").exit_code(), 0);
    }

    #[test]
    fn an_error_that_says_what_to_do_about_a_folder_gets_no_other_advice() {
        let hint = |source: io::Error| Failure::from(Error::io("read", ".", source)).hint();
        assert_eq!(hint(io::ErrorKind::NotFound.into()).as_deref(), Some("give a file, not a folder"));
        assert_eq!(hint(io::Error::new(io::ErrorKind::NotFound, "its writer is busy; try again")), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_device_that_fails_comes_with_the_way_to_save_what_it_still_reads() {
        let failure = Failure::from(Error::io("read", "t", io::Error::from_raw_os_error(crate::advice::EIO)));
        assert!(failure.hint().is_some_and(|hint| hint.contains("`ddrescue`")));
    }

    #[test]
    fn a_value_beyond_the_budget_comes_with_the_flags_that_help() {
        let failure = Failure::from(Error::value_too_large("t", 2, 1));
        assert!(failure.hint().is_some_and(|hint| hint.contains("--raw") && hint.contains("--memory")));
        let failure = Failure::from(Error::value_too_large("t", 2 << 30, VALUE_BYTES_MAX));
        assert!(failure.hint().is_none() && failure.to_string().contains("divide it over several keys"), "{failure}");
    }
}
