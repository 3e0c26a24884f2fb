//! The main function: command line, standard output, exit code; and what another program adds to the command.

use crate::args::Arguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::shell::{set_program_name, under_own_name};
use crate::{command_line, disk_cache, interrupt, urls};
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use serde_json::json;
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Runs a sub-command of an extension.
pub type RunCommand = Box<dyn Fn(&ArgMatches, bool) -> ExitCode>;

/// What a program has in addition to the sub-commands of `ogive`.
pub struct Extension {
    /// The name of the program.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Its own sub-commands.
    pub commands: Vec<Command>,
    /// Runs one of these, by the arguments of the program, as JSON if that is asked for.
    pub run: RunCommand,
}

impl fmt::Debug for Extension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Extension").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Place in the help of the sub-commands of an extension: behind those of the command.
const BEHIND_ALL: usize = 1_000;

/// The command line of a program with an extension.
static EXTENDED: OnceLock<Command> = OnceLock::new();

/// The command line of this program.
pub(crate) fn command() -> Command {
    EXTENDED.get().cloned().unwrap_or_else(Arguments::command)
}

/// Runs the command `ogive` with the arguments of the process.
pub fn main() -> ExitCode {
    run(|_, _| None)
}

/// Runs the command `ogive` and the sub-commands of another program, under its name.
pub fn main_with(extension: Extension) -> ExitCode {
    let Extension { name, about, commands, run: run_own } = extension;
    let names: Vec<String> = commands.iter().map(|command| command.get_name().to_owned()).collect();
    let commands = commands.into_iter().map(|command| command.display_order(BEHIND_ALL));
    set_program_name(name);
    EXTENDED.get_or_init(|| Arguments::command().name(name).about(about).subcommands(commands));
    run(|matches, json| {
        let is_own = matches.subcommand_name().is_some_and(|name| names.iter().any(|own| own == name));
        is_own.then(|| run_own(matches, json))
    })
}

/// Parses the arguments and runs the sub-command; `run_own` runs those of an extension.
fn run(run_own: impl Fn(&ArgMatches, bool) -> Option<ExitCode>) -> ExitCode {
    interrupt::tell_file_size_limits();
    let words: Vec<OsString> = std::env::args_os().collect();
    let matches = match command_line::parse(&command(), &words) {
        Ok(matches) => matches,
        Err(error) => return refuse(&error, &words),
    };
    if let Some(code) = run_own(&matches, matches.get_flag("json")) {
        return code;
    }
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error.format(&mut command()), &words),
    };
    urls::register(&arguments.storage_options, arguments.cache.as_ref());
    let mut output = Output::new(arguments.json);
    let outcome = arguments.run(&mut output).and_then(|outcome| output.flush().map(|()| outcome));
    disk_cache::note_failure();
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Negative) => ExitCode::from(1),
        Err(failure) => report(&failure, &mut output),
    }
}

/// Prints help and version to standard output, and usage errors to standard error; with `--json`, also as an object to
/// standard output.
fn refuse(error: &clap::Error, words: &[OsString]) -> ExitCode {
    // A closed pipe is not an error.
    let _ = error.print();
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    let json_asked = words.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json");
    if code != 0 && json_asked {
        let rendered = error.to_string();
        let hint = rendered
            .lines()
            .find_map(|line| line.trim().strip_prefix("tip: "))
            .map_or_else(|| under_own_name("run `ogive --help`"), Cow::Borrowed);
        let _ = Output::new(true).json(&json!({ "error": first_paragraph(&rendered), "hint": hint }));
    }
    ExitCode::from(code)
}

/// The first paragraph of a usage error, before the synopsis, on one line.
fn first_paragraph(rendered: &str) -> String {
    let paragraph = rendered.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

/// Prints a failure to standard error and, with `--json`, as an object to standard output.
fn report(failure: &Failure, output: &mut Output) -> ExitCode {
    if !matches!(failure, Failure::ClosedPipe) {
        let told = failure.to_string();
        let (error, hint) = (under_own_name(&told), failure.hint());
        let hint = hint.as_deref().map(under_own_name);
        note(format_args!("error: {error}"));
        if let Some(hint) = &hint {
            note(format_args!("hint: {hint}"));
        }
        if output.is_json() {
            // A second failure of the same stream adds nothing.
            let mut object = json!({ "error": error, "hint": hint });
            if let Some((name, facts)) = failure.facts() {
                object[name] = facts;
            }
            let _ = output.json(&object);
        }
    }
    let _ = output.flush();
    ExitCode::from(failure.exit_code())
}
