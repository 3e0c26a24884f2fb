//! The flags of commands on places: the kinds that each is for, and what a command has no use for.
//!
//! A flag that would be ignored is refused, by the kind that the place turned out to be.

use super::place::PlaceKind::{self, Beside, Index, Store, Table};
use crate::failure::{Failure, Result};
use crate::places::may_be_store;
use crate::shell::shell_path;
use std::path::Path;

/// Flags, the kinds of places that they are for, and how these are called.
const KINDS: [(&[&str], &[PlaceKind], &str); 6] = [
    (&["--keyspace", "--key-type", "--open-files", "--clock-ahead"], &[Store], "a store"),
    (&["--resident", "--values"], &[Index], "an index"),
    (&["--direct"], &[Table, Beside, Index], "tables and indexes"),
    (&["--explain"], &[Table, Beside], "tables and indexes of Parquet files"),
    (&["--columns", "--csv", "--arrow"], &[Beside], "indexes of Parquet files"),
    (&["--accept"], &[Beside], "indexes of Parquet files"),
];

/// Flags that some commands have no use for, and why.
const UNUSED: [(&str, PlaceUse, &str); 6] = [
    ("--keyspace", PlaceUse::Verification, "is not for `ogive verify`, which checks the whole store"),
    ("--key-type", PlaceUse::Verification, "is not for `ogive verify`, which checks keys as bytes"),
    ("--key-type", PlaceUse::Structure, "is for commands on keys, and this one shows none"),
    ("--clock-ahead", PlaceUse::Verification, "is not for `ogive verify`, which checks expired entries, too"),
    ("--resident", PlaceUse::Verification, "is for lookups, and `ogive verify` reads each page once"),
    ("--resident", PlaceUse::Structure, "is for lookups, and this command reads each page once"),
];

/// What a command does at a place, as far as its flags depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceUse {
    /// Finds records.
    Records,
    /// Shows what the place is made of.
    Structure,
    /// Checks every byte.
    Verification,
}

/// The flags that are given, of these.
pub(crate) fn given(flags: &[(&'static str, bool)]) -> Vec<&'static str> {
    flags.iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| *flag).collect()
}

/// Refuses flags that are not for a place of this kind, or not for what is done there. A folder without a store, which
/// has no flags, is left to the opening.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn check(flags: &[&str], path: &Path, kind: PlaceKind, asked: PlaceUse) -> Result<()> {
    if kind == Store && !may_be_store(path) {
        return Ok(());
    }
    let shown = path.display();
    for &flag in flags {
        let other = KINDS.iter().find(|(names, kinds, _)| names.contains(&flag) && !kinds.contains(&kind));
        if let Some((_, _, wanted)) = other {
            let message = format!("{flag} is for {wanted}, but {shown} is {}", kind.named());
            return Err(Failure::usage(message, advice(flag, path, kind)));
        }
        if let Some((_, _, why)) = UNUSED.iter().find(|(name, of, _)| *name == flag && *of == asked) {
            return Err(Failure::usage(format!("{flag} {why}"), format!("remove {flag}")));
        }
    }
    Ok(())
}

/// What to do instead.
fn advice(flag: &str, path: &Path, kind: PlaceKind) -> String {
    let shown = shell_path(path);
    match (flag, kind) {
        ("--explain", Index) => format!("`ogive explain {shown} KEY` shows the nodes that a lookup visits"),
        ("--explain", _) => format!("`ogive explain {shown} KEY` shows the tables that a lookup goes through"),
        ("--columns" | "--csv" | "--arrow", _) => format!("remove {flag}; `ogive export` writes other formats"),
        _ => format!("remove {flag}"),
    }
}
