//! Faults of external programs.

use std::io;
use std::process::ExitStatus;

/// What is wrong with a program, as the end of a sentence that begins with its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramFault {
    /// It cannot be started.
    #[error("cannot be started: {0}")]
    Start(#[source] io::Error),
    /// It ended, or closed its output, before it had answered.
    #[error("ended before it answered {request}{}; its standard error may say why", ended(.status))]
    Ended {
        /// The request.
        request: &'static str,
        /// Its exit status; `None` if only its output is closed.
        status: Option<ExitStatus>,
    },
    /// It did not answer in time.
    #[error("did not answer {request} within {timeout_s} s; give it longer with --program-timeout")]
    Silent {
        /// The request.
        request: &'static str,
        /// Seconds that it had.
        timeout_s: u64,
    },
    /// A line of it is too long.
    #[error("answered {request} by a line of more than {bytes_max} bytes")]
    LongLine {
        /// The request.
        request: &'static str,
        /// The longest line that is read, in bytes.
        bytes_max: usize,
    },
    /// A line is not a reply.
    #[error("answered {request} by {line:?}, which is no reply: {reason}")]
    Invalid {
        /// The request.
        request: &'static str,
        /// The start of the line.
        line: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A reply lacks a field, or states what cannot be.
    #[error("answered {request} by a reply that {reason}")]
    Unsound {
        /// The request.
        request: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// It speaks another version of the protocol.
    #[error("speaks protocol {theirs}, and this program {ours}")]
    Protocol {
        /// Its version.
        theirs: u64,
        /// Ours.
        ours: u64,
    },
    /// It says that it failed.
    #[error("failed at {request}: {reason}")]
    Failed {
        /// The request.
        request: &'static str,
        /// Its reason.
        reason: String,
    },
    /// It does not offer an operation that the workload needs.
    #[error("does not offer {operation}; its hello would list it")]
    Lacks {
        /// The operation.
        operation: &'static str,
    },
    /// An answer is wrong.
    #[error("gave a wrong answer: {request} of key {key} gave {found} instead of {expected}")]
    WrongAnswer {
        /// The request.
        request: &'static str,
        /// The key.
        key: u64,
        /// Its answer.
        found: String,
        /// The right one.
        expected: String,
    },
    /// A number about the whole index, or of answers, is wrong.
    #[error("answered {request} with {found} {what} instead of {expected}")]
    WrongCount {
        /// The request.
        request: &'static str,
        /// What is counted.
        what: &'static str,
        /// Its number.
        found: u64,
        /// The right one.
        expected: u64,
    },
    /// It states more time than passed.
    #[error("states {stated_ns} ns for {request}, which took {passed_ns} ns with the pipe")]
    Clock {
        /// The request.
        request: &'static str,
        /// Its time.
        stated_ns: u64,
        /// The time that passed from the request to the answer.
        passed_ns: u64,
    },
}

fn ended(status: &Option<ExitStatus>) -> String {
    status.map_or_else(|| " (its output is closed)".to_owned(), |status| format!(" ({status})"))
}
