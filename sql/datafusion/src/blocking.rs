//! Work that waits for storage, in asynchronous code.

use datafusion::common::exec_datafusion_err;
use datafusion::error::Result;

/// Runs work that waits for storage on a thread that may wait.
///
/// # Errors
/// Those of the work, and its panic or cancellation.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| exec_datafusion_err!("work on storage was broken off: {error}"))?
}
