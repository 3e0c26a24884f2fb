//! The command `ogive-sql`: SQL over Ogive tables, and over files that DataFusion reads, named by their paths.

mod arguments;
mod command;
mod editor;
mod failure;
mod history;
mod interrupts;
mod names;
mod output;
mod paths;
mod picture;
mod progress;
mod query;
mod redact;
mod script;
mod session;
mod shell;
mod size;
mod statements;

use arguments::{Arguments, input};
use clap::Parser;
use failure::{Failure, Result};
use interrupts::Interrupts;
use mimalloc::MiMalloc;
use ogive_ballista::{StorageOption, has_executors};
use output::RowLimit;
use progress::Progress;
use query::by_task;
use script::Source;
use session::Session;
use shell::Settings;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Look-ups and plans allocate much, on several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The arguments that start a cluster on this machine, and show what it does.
const CLUSTER_DEMO: [&str; 2] = ["cluster", "demo"];
/// Time between two lines about requests that an object store keeps waiting.
const WAITING_EVERY: Duration = Duration::from_secs(4);
const WAITING_EVERY_WITHOUT_TERMINAL: Duration = Duration::from_secs(60);
/// Time for cancelled work to remove its temporary files.
const CLEANING: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ran = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let ran = run(&arguments, &runtime);
            runtime.shutdown_timeout(CLEANING);
            ogive_ballista::finish_clearing(|| shell::note("removing what the statement has written ..."));
            ran
        }
        Err(source) => Err(Failure::File { action: "start", path: "the threads of queries".to_owned(), source }),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_closed_pipe() {
                shell::note(&format!("ogive-sql: {}", failure.line()));
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: &Arguments, runtime: &Runtime) -> Result<()> {
    let every = if io::stderr().is_terminal() { WAITING_EVERY } else { WAITING_EVERY_WITHOUT_TERMINAL };
    StorageOption::tell_waiting(every, |waiting| shell::note(&format!("ogive-sql: {waiting}")));
    if let [cluster, demo, place @ ..] = &arguments.inputs[..]
        && [cluster, demo] == CLUSTER_DEMO
        && place.len() <= 1
    {
        StorageOption::register(&arguments.storage_options);
        let options = ogive_ballista::DemoOptions { store: place.first().cloned(), ..Default::default() };
        return Ok(runtime.block_on(ogive_ballista::demo(&options, &mut io::stdout()))?);
    }
    if arguments.inputs.first().is_some_and(|first| first == CLUSTER_DEMO[0] && !Path::new(first).exists()) {
        let message = format!("'{}' is no command", arguments.inputs.join(" "));
        return Err(Failure::refused(message, "`cluster demo` starts a cluster on this machine"));
    }
    let inputs = arguments.inputs.iter().map(|argument| input(argument)).collect::<Result<Vec<_>>>()?;
    let mut sources = script::sources(&arguments.command, &inputs)?;
    let is_shell = sources.is_empty() && io::stdin().is_terminal();
    if sources.is_empty() && !is_shell {
        sources.push(Source::of_stdin()?);
    }
    arguments.picture.as_deref().map_or(Ok(()), picture::claim)?;
    let is_terminal = io::stdout().is_terminal();
    let settings = Settings {
        format: arguments.format(),
        limit: arguments.max_rows.unwrap_or(RowLimit::usual(is_terminal)),
        has_timing: arguments.timing || is_shell,
        picture: arguments.picture.clone(),
    };
    let session = match &arguments.cluster {
        Some(address) => {
            let session = runtime.block_on(Session::of_cluster(address, arguments.partitions))?;
            if runtime.block_on(has_executors(address))? == Some(false) {
                shell::note(&format!(
                    "ogive-sql: the scheduler at {address} has no executor, or fewer than its --min-ready-executors, \
                     and queries may wait; start one by `ogive-executor`, with the --scheduler-host and \
                     --scheduler-port of that address"
                ));
            }
            session
        }
        None => Session::new(arguments.partitions, arguments.memory)?,
    };
    StorageOption::register(&arguments.storage_options);
    let mut interrupts = Interrupts::watch();
    let (tables, into) = (inputs.clone(), session.clone());
    let opening = async move { into.register(&tables).await };
    runtime.block_on(async { by_task(opening, &mut interrupts, &mut Progress::start(true)).await })?;
    let ran = match is_shell {
        true => shell::run(&session, runtime, settings, interrupts),
        false => runtime.block_on(script::run(&session, &sources, &settings, &mut interrupts)),
    };
    if let Some(unfinished) = session.unfinished() {
        shell::note(&format!("ogive-sql: {unfinished}"));
    }
    ran
}
