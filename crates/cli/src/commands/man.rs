//! `ogive man`: writes the manual pages.

use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::values::size::counted;
use clap::Command;
use clap_mangen::Man;
use serde_json::json;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive man ~/.local/share/man/man1     then: man ogive, man ogive-db-get
  ogive man pages                       for a package

Writes one page per command: ogive.1, ogive-get.1, ogive-db-get.1 and so on. Pages of these names are replaced.";

/// Write manual pages to a folder, one per command
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArguments {
    /// Folder of the pages; created if it does not exist
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Runs the command; `whole` has all sub-commands.
pub(crate) fn run(arguments: &ManArguments, whole: Command, output: &mut Output) -> Result<Outcome> {
    let folder = &arguments.folder;
    let failed = |action, path: &Path, source| Failure::File { action, path: path.display().to_string(), source };
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, error))?;
    let mut command = without_help(whole);
    command.build();
    let mut pages = Vec::new();
    render(&command, &mut pages).map_err(|error| failed("write", folder, error))?;
    for (name, page) in &pages {
        let path = folder.join(name);
        fs::write(&path, page).map_err(|error| failed("write", &path, error))?;
    }
    if output.is_json() {
        output.json(&json!({ "folder": folder.display().to_string(), "pages": pages.len() }))?;
    } else {
        output.line(format_args!("{}: {} written", folder.display(), counted(pages.len() as u64, "page")))?;
    }
    Ok(Outcome::Done)
}

/// A section with examples, line by line as they are printed by `--help`.
fn examples(help: &str) -> String {
    let mut section = ".SH EXAMPLES\n.nf\n".to_owned();
    for line in help.lines().filter(|line| *line != "Examples:") {
        // A line that begins with a point or an apostrophe is a request otherwise.
        section.push_str("\\&");
        section.push_str(&line.replace('\\', "\\e").replace('-', "\\-"));
        section.push('\n');
    }
    section + ".fi\n"
}

/// A command without the sub-commands `help`, which have no pages.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

/// The pages of a command and of its sub-commands, with their file names.
fn render(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let man = Man::new(command.clone()).source(concat!("ogive ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    page.extend(examples(&help).as_bytes());
    pages.push((man.get_filename(), page));
    command.get_subcommands().try_for_each(|command| render(command, pages))
}
