//! `ogive completions`: prints a completion script for a shell.

use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use clap::Command;
use clap_complete::Shell;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive completions bash > ~/.local/share/bash-completion/completions/ogive
  ogive completions zsh > ~/.zfunc/_ogive         with ~/.zfunc in fpath, before compinit
  ogive completions fish > ~/.config/fish/completions/ogive.fish";

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// Shell to complete commands, options and file names in
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command; `whole` has all sub-commands.
pub(crate) fn run(arguments: &CompletionsArguments, mut whole: Command, output: &mut Output) -> Result<Outcome> {
    let mut script = Vec::new();
    let name = whole.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut whole, name, &mut script);
    if output.is_json() {
        let script = String::from_utf8_lossy(&script);
        output.json(&json!({ "shell": arguments.shell.to_string(), "script": script }))?;
    } else {
        output.bytes(&script)?;
    }
    Ok(Outcome::Done)
}
