//! The commands on stores as a value, so that programs offer them under words of their own.

use std::io::Write;

use super::arguments::StoresCommand;
use super::system::StoreSystem;
use super::systems::Systems;
use super::{conduct, report, worker};

/// The commands of `ogive-research stores`, on the stores of Ogive and on added ones.
///
/// [`BenchCommand::store`](crate::BenchCommand::store) is the usual way to add a store. This type is for programs with
/// a command line of their own, of which [`StoresCommand`] is a part.
#[derive(Debug, Clone)]
pub struct StoreBench {
    added: Vec<&'static StoreSystem>,
    worker_words: &'static [&'static str],
}

impl StoreBench {
    /// With the stores of Ogive alone. `worker_words` are the arguments that lead this program to
    /// [`StoresCommand::Worker`], such as `["stores", "worker"]`: each system runs in a process of this program.
    pub fn new(worker_words: &'static [&'static str]) -> Self {
        Self { added: Vec::new(), worker_words }
    }

    /// Adds a store.
    #[must_use]
    pub fn store(mut self, system: &'static StoreSystem) -> Self {
        self.added.push(system);
        self
    }

    /// Runs a command, which prints to `out`: lines of JSON, or tables.
    ///
    /// # Errors
    /// A name that is unknown, or that two stores have; errors of the output. A store that fails is reported, and the
    /// others go on.
    pub fn run(&self, command: &StoresCommand, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        let systems = Systems::with(&self.added)?;
        match command {
            StoresCommand::List => report::list(&systems, out, json),
            StoresCommand::Run(run) => conduct::run(run, &systems, self.worker_words, out, json),
            StoresCommand::Worker { setup } => worker::serve(setup, &systems, out),
        }
    }
}
