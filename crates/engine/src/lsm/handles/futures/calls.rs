//! The ways in which lookups and scans of an asynchronous store wait.

use crate::error::Result;
use crate::io::CallPool;
use std::fmt::Debug;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

/// A call. It may be made again if it has failed by a read that was not waited for.
pub type CallAttempt = Box<dyn FnMut() -> Result<()> + Send>;

/// A future that returns what goes on with a call, and the outcome.
pub type RunningCall = Pin<Box<dyn Future<Output = (Box<dyn AsyncCall>, Result<()>)> + Send>>;

/// A way to make calls that read.
pub trait AsyncCaller: Debug + Send + Sync {
    /// Begins a call, or the calls of a scan.
    fn begin(&self, is_scan: bool) -> Box<dyn AsyncCall>;
}

/// A call, or the calls of a scan, one after the other.
pub trait AsyncCall: Send {
    /// Makes a call to its end.
    fn run(self: Box<Self>, attempt: CallAttempt) -> RunningCall;
}

/// Calls on the threads of a pool.
#[derive(Clone, Debug)]
pub(super) struct PoolCaller {
    pub(super) pool: Arc<CallPool>,
    /// The store, for errors.
    pub(super) path: PathBuf,
}

impl AsyncCaller for PoolCaller {
    fn begin(&self, _is_scan: bool) -> Box<dyn AsyncCall> {
        Box::new(self.clone())
    }
}

impl AsyncCall for PoolCaller {
    fn run(self: Box<Self>, mut attempt: CallAttempt) -> RunningCall {
        Box::pin(async move {
            let outcome = self.pool.call(&self.path, move |_| attempt()).await;
            (self as Box<dyn AsyncCall>, outcome)
        })
    }
}
