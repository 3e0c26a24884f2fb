//! Ctrl-C, which ends a statement, and the command unless it is a shell.

use tokio::sync::watch;

/// Receives interrupts.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts {
    count: watch::Receiver<u64>,
}

impl Interrupts {
    /// Starts to receive them. If the system does not allow it, they end the process as usual.
    ///
    /// A thread of its own waits for them: operators such as cross joins may keep all threads of a runtime busy, which
    /// then sees no signal.
    pub(crate) fn watch() -> Self {
        let (sender, count) = watch::channel(0);
        let wait = move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
            runtime.block_on(async {
                while tokio::signal::ctrl_c().await.is_ok() {
                    sender.send_modify(|count| *count += 1);
                }
            });
        };
        // Without the thread, nothing takes the signals over.
        _ = std::thread::Builder::new().name("interrupts".to_owned()).spawn(wait);
        Self { count }
    }

    /// Forgets those that came before.
    pub(crate) fn forget(&mut self) {
        self.count.mark_unchanged();
    }

    /// Waits for one that has not been seen.
    pub(crate) async fn next(&mut self) {
        if self.count.changed().await.is_err() {
            // No more can come.
            std::future::pending::<()>().await;
        }
    }
}
