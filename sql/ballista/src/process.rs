//! Processes of a cluster: their threads, shutdown and error messages.

use ballista_core::error::BallistaError;
use std::future::Future;
use std::io::{self, Write};
use std::process::ExitCode;
use tokio::runtime::Builder;

/// Bytes of the stack of a thread: plans are trees, which are walked by recursion.
const STACK_BYTES: usize = 32 << 20;

/// Runs a process to its end, and says why it fails.
pub fn run_process(name: &str, process: impl Future<Output = ballista_core::error::Result<()>>) -> ExitCode {
    let runtime = Builder::new_multi_thread().enable_all().thread_stack_size(STACK_BYTES).build();
    let ended = runtime.map_err(BallistaError::from).and_then(|runtime| runtime.block_on(process));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(io::stderr(), "{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Waits until the process is told to end.
pub(crate) async fn terminated() -> io::Result<()> {
    #[cfg(unix)]
    {
        let mut told = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            ended = tokio::signal::ctrl_c() => ended,
            _ = told.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

/// An error of ours as one of Ballista.
pub(crate) fn external(error: impl std::fmt::Display) -> BallistaError {
    BallistaError::Configuration(error.to_string())
}
