//! The process of a worker, as the conductor sees it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, anyhow};

use super::protocol::{Answer, Job, JobOutcome, Setup};
use super::system::StoreSystem;

/// How a worker is started, so that it can be started again.
#[derive(Debug, Clone)]
pub(super) struct WorkerStart {
    pub(super) system: &'static StoreSystem,
    /// Arguments of this program that make it a worker.
    pub(super) words: &'static [&'static str],
    /// What it works on, as its last argument.
    pub(super) setup: String,
    /// The folder of its store.
    pub(super) folder: PathBuf,
}

impl WorkerStart {
    /// For a system, whose store lies in `parent`.
    pub(super) fn new(
        system: &'static StoreSystem,
        words: &'static [&'static str],
        setup: &Setup,
        parent: &Path,
    ) -> Result<Self> {
        Ok(Self { system, words, setup: serde_json::to_string(setup)?, folder: parent.join(system.name) })
    }
}

/// A process that serves one system.
pub(super) struct Worker {
    pub(super) start: WorkerStart,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// A worker that failed is left out from then on.
    pub(super) failed: bool,
}

impl Worker {
    pub(super) fn spawn(start: WorkerStart) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(start.words)
            .arg(&start.setup)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = BufReader::new(child.stdout.take().context("the worker has no output")?);
        Ok(Self { start, input: child.stdin.take(), child, output, failed: false })
    }

    /// Replaces the process by a new one, in which no earlier store has left memory.
    pub(super) fn restart(&mut self) -> Result<()> {
        *self = Self::spawn(self.start.clone())?;
        Ok(())
    }

    /// Has a job done.
    pub(super) fn order(&mut self, job: &Job) -> Result<JobOutcome> {
        let job = serde_json::to_string(job)?;
        let input = self.input.as_mut().context("the worker has no input")?;
        // A process that is gone cannot take a job. It has not answered either, which says more.
        let sent = writeln!(input, "{job}");
        let mut line = String::new();
        if sent.is_err() || self.output.read_line(&mut line)? == 0 {
            return Err(self.ended());
        }
        let answer: Answer = serde_json::from_str(&line)
            .with_context(|| format!("standard output of the store's process has a line of its own: {line:?}"))?;
        answer.map_err(|error| anyhow!(error))
    }

    /// The error of a process that ended before its answer.
    fn ended(&mut self) -> anyhow::Error {
        self.input = None;
        match self.child.wait() {
            Ok(status) => anyhow!("the process of the store ended before it answered ({status}); it says why above"),
            Err(error) => anyhow!("the process of the store is lost: {error}"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input tells it to go.
        self.input = None;
        // Nothing can be done about one that does not end well.
        let _ = self.child.wait();
    }
}
