//! Pages that commands write: `ogive report` and `--html`.

use crate::export::write_whole;
use crate::failure::Result;
use crate::output::Output;
use crate::replace::{Force, OutputFile, OutputKind, claim};
use crate::shell::shell_line;
use crate::urls::path_argument;
use crate::values::size::human_bytes;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Whether a command also writes a page.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PageOption {
    /// Also write a page with pictures; replaces an existing page, and any other file only with --force
    #[arg(long, value_name = "PAGE", value_parser = OsStringValueParser::new().try_map(path_argument))]
    html: Option<PathBuf>,
}

impl PageOption {
    /// Whether a page is written.
    pub(crate) fn is_wanted(&self) -> bool {
        self.html.is_some()
    }

    /// The checked place of the page, before the work that it shows.
    pub(crate) fn claim(&self, inputs: &[&Path], force: Force) -> Result<Option<OutputFile>> {
        self.html.as_ref().map(|page| claim(page, OutputKind::Page, inputs, Some(force))).transpose()
    }
}

/// Writes a page.
pub(crate) fn write(html: &str, place: &OutputFile) -> Result<()> {
    write_whole(html, place).map_err(|failure| place.left(failure))
}

/// Writes a page, and says so.
pub(crate) fn publish(html: &str, place: &OutputFile, page: &Path, output: &mut Output) -> Result<()> {
    write(html, place)?;
    let shown = page.display();
    if output.is_json() {
        return output.json(&json!({ "page": shown.to_string(), "bytes": html.len() }));
    }
    output.line(format_args!("{shown}: {}; open it in a browser", human_bytes(html.len() as u64)))
}

/// The command line of this process, for a page.
pub(crate) fn command_line() -> String {
    shell_line(std::env::args_os().skip(1))
}
