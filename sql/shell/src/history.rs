//! The file of past statements, which only its owner can read.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

/// Statements that are kept.
pub(crate) const STATEMENTS_MAX: usize = 5_000;

/// The place of the file: the folder of states of the system, else `~/.local/state`.
pub(crate) fn place() -> Option<PathBuf> {
    place_of(env::var_os("XDG_STATE_HOME").map(PathBuf::from), env::home_dir())
}

fn place_of(states: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    // The standard ignores a relative one.
    let states = states.filter(|path| path.is_absolute());
    Some(states.or_else(|| Some(home?.join(".local").join("state")))?.join("ogive").join("sql_history"))
}

/// Makes the file with its folder if there is none, and takes the rights of others away.
///
/// # Errors
/// Those of the system.
pub(crate) fn prepare(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(file)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    drop(file);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_lies_in_the_folder_of_states() {
        let home = Some(PathBuf::from("/home/a"));
        assert_eq!(place_of(Some("/states".into()), home.clone()), Some("/states/ogive/sql_history".into()));
        for states in [None, Some("relative".into())] {
            assert_eq!(place_of(states, home.clone()), Some("/home/a/.local/state/ogive/sql_history".into()));
        }
        assert_eq!(place_of(None, None), None);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ogive").join("sql_history");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        prepare(&file).unwrap();
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        std::fs::write(&file, "kept").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        prepare(&file).unwrap();
        assert_eq!((mode(&file), std::fs::read_to_string(&file).unwrap()), (0o600, "kept".to_owned()));
    }
}
