//! Errors of the program, with their hints and exit codes.

use crate::voice::Program;
use ogive::{Cause, Error, Voice};
use std::io;

/// The exit code after an interrupt: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

/// Result of the program, or of a part of it.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error that ends an import.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line is wrong in a way that the parser cannot find.
    #[error("{message}")]
    Usage {
        /// The error.
        message: String,
        /// The correct usage.
        hint: String,
    },
    /// The program refuses the source or the target.
    #[error("{message}")]
    Refused {
        /// What is refused, and why.
        message: String,
        /// The alternative.
        hint: String,
    },
    /// An error of the engine.
    #[error("{}", .0.message_in(&Program))]
    Engine(#[from] Error),
    /// The source cannot be read.
    #[error("cannot read {path}: {detail}")]
    Source {
        /// The file or folder, as given.
        path: String,
        /// The error of its library or of the system.
        detail: String,
    },
    /// The records of a keyspace are not those of the source.
    #[error("{0}")]
    Differs(String),
    /// A failure after a part of the work was done.
    #[error("{failure}; {rest}")]
    Partial {
        /// The failure.
        failure: Box<Failure>,
        /// What is there.
        rest: String,
    },
    /// A failed write to standard output.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// The reader of standard output has closed it. Not an error.
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

    /// Tells a closed pipe from other failed writes to standard output.
    pub(crate) fn from_output(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Output(source),
        }
    }

    /// Adds what is there.
    pub(crate) fn but(self, rest: impl Into<String>) -> Self {
        Self::Partial { failure: Box::new(self), rest: rest.into() }
    }

    /// 2 for wrong usage, 0 for a closed pipe, 130 for an interrupt, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Partial { failure, .. } => failure.exit_code(),
            Self::Usage { .. } => 2,
            Self::Engine(Error { cause: Cause::Interrupted, .. }) => INTERRUPTED,
            _ => 1,
        }
    }

    /// Advice, if the message does not already give it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Usage { hint, .. } | Self::Refused { hint, .. } => Some(hint.clone()),
            Self::Partial { failure, .. } => failure.hint(),
            Self::Engine(error) => error.advice().and_then(|advice| Program.advise(advice)),
            Self::Source { .. } => Some("check the path, the permissions, and that the file is whole".into()),
            Self::Differs(_) => Some("please report it, with the summary and, if you can, the source".into()),
            Self::Output(_) | Self::ClosedPipe => None,
        }
    }
}
