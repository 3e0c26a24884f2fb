//! One writer at a time.

use crate::errors;
use pyo3::prelude::*;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

/// How long a writer waits before it looks for signals.
const SIGNAL_WAIT: Duration = Duration::from_millis(50);

/// Lets one writer in at a time. A thread that waits for itself gets an error, and one that waits for another sees
/// signals.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    inside: Mutex<Option<ThreadId>>,
    left: Condvar,
}

/// The writer that is inside, until it is dropped.
#[derive(Debug)]
pub(crate) struct Writing(Arc<Gate>);

impl Gate {
    pub(crate) fn enter(gate: &Arc<Self>, py: Python<'_>) -> PyResult<Writing> {
        let own = std::thread::current().id();
        loop {
            let inside = py.detach(|| {
                let inside = gate.inside.lock().unwrap_or_else(PoisonError::into_inner);
                let wait = |inside: &mut Option<ThreadId>| inside.is_some_and(|other| other != own);
                let waited = gate.left.wait_timeout_while(inside, SIGNAL_WAIT, wait);
                let (mut inside, _) = waited.unwrap_or_else(PoisonError::into_inner);
                let found = *inside;
                inside.get_or_insert(own);
                found
            });
            match inside {
                None => return Ok(Writing(gate.clone())),
                Some(other) if other == own => {
                    let message = "this thread has a transaction open; write through it, or end it first";
                    return Err(errors::new("InvalidArgument", message));
                }
                Some(_) => py.check_signals()?,
            }
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        *self.0.inside.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.left.notify_one();
    }
}
