//! Follow-up commands of the demonstration. They work as printed, in the shell and the folder that it was started from.

use super::files::{Files, Order};
use super::tables::Data;
use crate::failure::Result;
use crate::output::Output;
use crate::values::key;
use ogive_terminal::shell_word;
use std::env;
use std::path::{Path, PathBuf};

/// Prints the commands on tables of files.
pub(super) fn print_next(all: &[Data], files: &Files, output: &mut Output) -> Result<()> {
    let program = program();
    let mut commands = Vec::new();
    for made in all.iter().filter_map(|data| Some((data.order, data.tables.first()?))) {
        let table = shell_word(&made.1.path.to_string_lossy()).into_owned();
        match (made.0, files.at(Order::Path, files.len() / 2)) {
            (Order::Path, Some(file)) => {
                let shown = |key: &[u8]| shell_word(&key::shown(made.1.table.key_type(), key)).into_owned();
                let folder = file.path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
                commands.push(format!("{program} info {table}"));
                commands.push(format!("{program} get {table} {} --explain", shown(&file.path)));
                let folder = shown(&file.path[..folder]);
                commands.push(format!("{program} scan {table} --prefix {folder} --limit 10"));
                commands.push(format!("{program} verify {table}"));
            }
            _ => {
                commands.push(format!("{program} scan {table} --reverse --limit 10"));
                commands.push(format!("{program} explain {table}"));
            }
        }
    }
    print_commands(&program, &commands, output)
}

/// Prints commands on the tables, then those that measure the storage and build a table for it.
pub(super) fn print_commands(program: &str, commands: &[String], output: &mut Output) -> Result<()> {
    output.line("\nNext:\n")?;
    commands.iter().try_for_each(|command| output.line(format_args!("  {command}")))?;
    output.line("\nMeasure the storage of this folder, and build a table of your own for it:\n")?;
    output.line(format_args!("  {program} profile . -o mine.json"))?;
    output.line("  ls /usr/bin > names.txt")?;
    output.line(format_args!("  {program} build names.txt -o names.ogive --for mine.json"))
}

/// The command as a shell finds it: `ogive` if that is this program, else the path of this program, from the current
/// folder if it lies below it.
pub(super) fn program() -> String {
    let Ok(path) = env::current_exe() else { return "ogive".into() };
    let folders = env::var_os("PATH").unwrap_or_default();
    let first = env::split_paths(&folders).map(|folder| folder.join("ogive")).find(|path| path.is_file());
    if first.is_some_and(|first| resolved(&first) == resolved(&path)) {
        return "ogive".into();
    }
    let below = env::current_dir().ok().and_then(|folder| Some(path.strip_prefix(folder).ok()?.to_owned()));
    let below = below.map(|below| if below.components().count() == 1 { Path::new(".").join(below) } else { below });
    shell_word(&below.unwrap_or(path).to_string_lossy()).into_owned()
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
