//! Interrupts: the first asks an import to stop, the second ends the process.

use crate::failure::Result;
use ogive::Error;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Watches for interrupts from the terminal and for requests to terminate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Starts watching. If the system does not allow it, signals end the process as usual.
    pub(crate) fn watch() -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the second signal finds the flag set by the first one.
            _ = register_conditional_shutdown(signal, 130, Arc::clone(&asked));
            _ = register(signal, Arc::clone(&asked));
        }
        Self(asked)
    }

    /// Whether an interrupt has arrived.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails after an interrupt.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_asked() { Err(Error::interrupted().into()) } else { Ok(()) }
    }
}
