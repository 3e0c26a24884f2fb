//! Interrupts of long work: the first asks it to stop, the second ends the process.

use crate::failure::{Failure, INTERRUPTED, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The flag of the last watch.
static WATCHED: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// Whether an interrupt has arrived since the process watches.
fn is_asked_anywhere() -> bool {
    let watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    watched.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed))
}

/// Fails after an interrupt, where input is read: an input may be parsed, or waited for, much longer than its records
/// take.
///
/// # Errors
/// The error of the engine for an interrupt.
pub(crate) fn check_anywhere() -> ogive::Result<()> {
    if is_asked_anywhere() { Err(ogive::Error::interrupted()) } else { Ok(()) }
}

/// As [`check_anywhere`], with an error of the system, as reading has.
///
/// # Errors
/// As there.
pub(crate) fn check_reading() -> io::Result<()> {
    check_anywhere().map_err(io::Error::other)
}

/// Makes a write beyond the limit of a file's size an error of that write, where the signal would end the process and
/// leave its temporary files.
pub(crate) fn tell_file_size_limits() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Watches for interrupts from the terminal and for requests to terminate.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts watching. If the system does not allow it, signals end the process as usual.
    pub(crate) fn watch() -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the second signal finds the flag set by the first one, and ends the process.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&asked));
            let _ = signal_hook::flag::register(signal, Arc::clone(&asked));
        }
        *WATCHED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&asked));
        Self { asked }
    }

    /// The flag that an interrupt sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Whether an interrupt has arrived.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Fails after an interrupt.
    pub(crate) fn check(&self) -> Result<()> {
        Ok(self.engine_check()?)
    }

    /// As [`Self::check`], with an error of the engine.
    pub(crate) fn engine_check(&self) -> ogive::Result<()> {
        if self.is_asked() { Err(ogive::Error::interrupted()) } else { Ok(()) }
    }

    /// The failure of work that an interrupt ended, directly or through background work that it needs.
    pub(crate) fn interrupted(&self, error: &ogive::Error) -> Option<Failure> {
        let is_ours = matches!(error, ogive::Error { cause: ogive::Cause::Interrupted | ogive::Cause::ReadOnly, .. });
        (is_ours && self.is_asked()).then(|| ogive::Error::interrupted().into())
    }

    /// Interrupts, as a signal does, but not the other tests of this process.
    #[cfg(test)]
    pub(crate) fn ask(&self) {
        *WATCHED.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.asked.store(true, Ordering::Relaxed);
    }
}
