//! What can stop a command, and what to tell the person who typed it.

use crate::input::InputError;
use std::io;

/// Result of a command, or of a part of one.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An argument that the parser could not judge by itself, such as a key that does not fit the table's type.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What would be right.
        hint: String,
    },
    /// The input file cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The engine refused; its message says what to do.
    #[error("{}", crate::words::of_command(.0))]
    Engine(#[from] ogive::Error),
    /// An output file or directory of the command itself cannot be made.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// A verb phrase: "create", "read".
        action: &'static str,
        /// The file, as given.
        path: String,
        /// The system's own word.
        source: io::Error,
    },
    /// What was read is not what it should be.
    #[error("{message}")]
    Refused {
        /// What is wrong with which file.
        message: String,
        /// What to do instead.
        hint: String,
    },
    /// Something failed behind what was done already.
    #[error("{failure}; {done}")]
    Partial {
        /// What failed.
        failure: Box<Failure>,
        /// What was done before, and stays, or that nothing was.
        done: String,
    },
    /// Standard output cannot be written, for another reason than that nobody reads it any more.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// The reader of standard output went away, as `head` does: no error.
    #[error("standard output was closed")]
    ClosedPipe,
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

    /// The same failure, and a word on what stays of what was done before. A closed pipe stays what it is.
    pub(crate) fn but(self, done: impl Into<String>) -> Self {
        match self {
            Self::ClosedPipe => self,
            failure => Self::Partial { failure: Box::new(failure), done: done.into() },
        }
    }

    /// Sorts out what a failed write to standard output means.
    pub(crate) fn from_output(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Output(source),
        }
    }

    /// Unwraps the engine's own error from a value that is read as a stream.
    pub(crate) fn from_value(source: io::Error) -> Self {
        match source.downcast::<ogive::Error>() {
            Ok(error) => Self::Engine(error),
            Err(source) => Self::File { action: "read", path: "the value".into(), source },
        }
    }

    /// The exit code that tells scripts about it: 2 for wrong usage, else 1; a closed pipe is success.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Partial { failure, .. } => failure.exit_code(),
            // The engine's word for options that make no sense, such as the name of a design.
            Self::Usage { .. } | Self::Engine(ogive::Error::InvalidArgument(_)) => 2,
            _ => 1,
        }
    }

    /// What to do about it, where the message does not say so already.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Usage { hint, .. } | Self::Refused { hint, .. } => Some(hint.clone()),
            Self::Input(error) => error.hint(),
            Self::Partial { failure, .. } => failure.hint(),
            Self::File { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Some("check the path".into()),
                io::ErrorKind::PermissionDenied => Some("check the permissions".into()),
                io::ErrorKind::StorageFull => Some("free some space and try again".into()),
                _ => None,
            },
            Self::Engine(ogive::Error::ValueTooLarge { .. }) => {
                Some("--memory raises the budget; `ogive get --raw` needs no memory for the value".into())
            }
            Self::Engine(ogive::Error::MemoryShort { needed_bytes, .. }) => {
                Some(format!("--memory {needed_bytes} is enough"))
            }
            Self::Engine(ogive::Error::JoinMemoryShort { needed_bytes, .. }) => {
                Some(format!("try --memory {needed_bytes}"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wrong_usage_exits_with_two_and_a_closed_pipe_is_no_error() {
        assert_eq!(Failure::usage("no", "yes").exit_code(), 2);
        assert_eq!(Failure::refused("no", "yes").exit_code(), 1);
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
    fn a_value_beyond_the_budget_comes_with_the_flags_that_help() {
        let failure = Failure::from(ogive::Error::ValueTooLarge { path: "t".into(), length: 2, limit: 1 });
        assert!(failure.hint().is_some_and(|hint| hint.contains("--raw") && hint.contains("--memory")));
    }
}
