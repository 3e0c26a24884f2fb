//! The commands of experiments as a value, so that a program of another crate can add to it and run it.

use std::io::Write;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches, Subcommand};
use ogive::index::IndexKind;

use super::arguments::Command;
use super::commands;
use crate::command_line::{Program, with_output};
use crate::experiments::MemoryGauge;
use crate::keys::{KeyGenerator, register};
use crate::paper::quoted;
use crate::stores::{StoreBench, StoreSystem};

/// Arguments that lead `ogive-research` to the worker of a store.
const WORKER_WORDS: &[&str] = &["stores", "worker"];

/// The commands of experiments of `ogive-research`, with structures, key sets and stores of one's own.
///
/// Everything else of the commands is the same: an added structure is a `--structure` of the experiments on indexes and
/// among those they compare by default; an added key set is listed and taken by `--keys`; an added store is a
/// `--system` of `stores run`.
///
/// ```no_run
/// # use std::process::ExitCode;
/// use ogive_research::BenchCommand;
/// use ogive_research::command_line::Program;
///
/// fn main() -> ExitCode {
///     let program = Program { name: "my-bench", version: "0.1.0", about: "Measure my index" };
///     // .index_kind(MY_KIND).key_set(&MY_KEYS).store(&MY_STORE)
///     BenchCommand::new(program).main()
/// }
/// ```
#[derive(Debug)]
pub struct BenchCommand {
    program: Program,
    memory: Option<MemoryGauge>,
    kinds: Vec<IndexKind>,
    key_sets: Vec<&'static dyn KeyGenerator>,
    stores: StoreBench,
}

impl BenchCommand {
    /// The command under the name of `program`, with nothing added.
    pub fn new(program: Program) -> Self {
        let stores = StoreBench::new(WORKER_WORDS);
        Self { program, memory: None, kinds: Vec::new(), key_sets: Vec::new(), stores }
    }

    /// Measures memory by this gauge. Without one, records have no figures of memory.
    #[must_use]
    pub fn memory(mut self, gauge: MemoryGauge) -> Self {
        self.memory = Some(gauge);
        self
    }

    /// Adds a structure of indexes. `ogive::index::extend` describes how to write one.
    #[must_use]
    pub fn index_kind(mut self, kind: IndexKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Adds a generated key set.
    #[must_use]
    pub fn key_set(mut self, generator: &'static dyn KeyGenerator) -> Self {
        self.key_sets.push(generator);
        self
    }

    /// Adds a store. [`crate::stores`] describes how to write one.
    #[must_use]
    pub fn store(mut self, system: &'static StoreSystem) -> Self {
        self.stores = self.stores.store(system);
        self
    }

    /// Runs the command with the arguments of the process.
    ///
    /// An added structure, key set or store whose name or code is taken is an error of the command. Exit codes are
    /// those of [`Program::main`].
    pub fn main(self) -> ExitCode {
        self.program.main(|command, json, out| self.run_parsed(command, json, out))
    }

    /// The sub-commands, for a program that has others beside them and runs these by [`Self::run`].
    #[must_use]
    pub fn commands() -> Vec<clap::Command> {
        let command = Command::augment_subcommands(clap::Command::new(""));
        command.get_subcommands().cloned().collect()
    }

    /// Runs one of [`Self::commands`] by the arguments of a program that has them, as JSON or as tables.
    pub fn run(&self, arguments: &ArgMatches, json: bool) -> ExitCode {
        with_output(|out| self.run_parsed(&Command::from_arg_matches(arguments)?, json, out))
    }

    fn run_parsed(&self, command: &Command, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        crate::register();
        for kind in &self.kinds {
            kind.register()?;
        }
        for generator in &self.key_sets {
            register(*generator)?;
        }
        commands::run(self, command, json, out)
    }

    /// The commands on stores.
    pub(super) fn stores(&self) -> &StoreBench {
        &self.stores
    }

    /// The gauge of memory, if there is one.
    pub(super) fn gauge(&self) -> Option<MemoryGauge> {
        self.memory
    }

    /// The command as it was given, for records and pages.
    pub(super) fn command_line(&self) -> String {
        let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
        std::iter::once(self.program.name.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    }
}
