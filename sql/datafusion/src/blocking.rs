//! Where work is carried out: what waits for storage, on threads that may wait; plans, perhaps by other processes.

use datafusion::catalog::Session;
use datafusion::common::exec_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use std::sync::Arc;

/// Runs work that waits for storage on a thread that may wait.
///
/// # Errors
/// Those of the work, and its panic or cancellation.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| exec_datafusion_err!("work on storage was broken off: {error}"))?
}

/// A note in the configuration of a session that other processes carry its plans out.
struct OfCluster;

/// Notes that other processes carry the plans of a session out.
pub(crate) fn mark_of_cluster(builder: &mut SessionStateBuilder) {
    builder.config().get_or_insert_default().set_extension(Arc::new(OfCluster));
}

/// Whether other processes carry the plans of a session out.
pub(crate) fn is_of_cluster(session: &dyn Session) -> bool {
    session.config().get_extension::<OfCluster>().is_some()
}
