//! The rule for replacing files, the same for all commands that write one.
//!
//! | existing file of that name | action |
//! |---|---|
//! | none | write |
//! | of the kind that is written, such as a table | replace once the new file is complete |
//! | any other regular file | refuse; replace with `--force` |
//! | an input of the command; a file of a store or an index; a folder, device or pipe | refuse, even with `--force` |
//!
//! In a folder whose files are an input, nothing but tables is written, which are left out there.
//!
//! A folder with a store is the store's alone: nothing is written there, whatever its name. Behind URLs, where tables
//! are put for a store to adopt, this holds for the names that a store uses.
//!
//! Text, rows and plain records do not identify their writer, so an existing file never counts as one of the kind.
//! Files are compared by identity, not by name: symbolic links are followed, and hard links to one file are equal.

use crate::commands::index::is_index;
use crate::failure::{Failure, Result};
use crate::places::{is_inside, may_be_store};
use crate::system::is_same_file;
use crate::urls::{self, is_url};
use ogive::io::{LocalStorage, Profile, Storage, StorageWrapper};
use ogive::lsm::is_store_file;
use ogive::table::{Table, TableOptions};
use ogive::{Cause, Error};
use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The beginning of a page, which says who wrote it.
const PAGE_HEAD_BYTES: u64 = 4096;

/// The `--force` flag of all commands that write a file.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Force {
    /// Replace an existing file: any except inputs, files of a store or an index, and non-regular files
    #[arg(long)]
    force: bool,
}

/// The kind of file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    Table,
    Profile,
    /// A page that `ogive report` or `--html` wrote.
    Page,
    /// Text, rows or records, which do not identify their writer.
    Plain,
}

/// The checked destination of an output.
#[derive(Clone, Debug)]
pub(crate) struct OutputFile {
    /// The file that is written, with links resolved.
    pub(crate) path: PathBuf,
    folder: PathBuf,
    pub(crate) name: String,
    /// The storage, if the place is a URL.
    remote: Option<Arc<dyn Storage>>,
    /// The path as given, for messages.
    shown: String,
    /// Whether the file exists.
    pub(crate) is_taken: bool,
    /// Whether a file of another kind exists and is to be replaced.
    is_forced: bool,
}

/// Checks that `output` may be written. `force` is `None` for commands without that flag.
///
/// # Errors
/// [`Failure::Refused`] by the table above; errors of the system.
pub(crate) fn claim(output: &Path, kind: OutputKind, inputs: &[&Path], force: Option<Force>) -> Result<OutputFile> {
    if output.as_os_str() == "-" {
        let what = match kind {
            OutputKind::Table => "a table",
            OutputKind::Profile => "a storage profile",
            OutputKind::Page => "a page",
            OutputKind::Plain => "this output",
        };
        let message = format!("{what} cannot be written to standard output");
        return Err(Failure::usage(message, "name a file; `ogive export` and `ogive join` can write text to -"));
    }
    if is_open_file(output) {
        return Err(no_plain_file(&output.display().to_string()));
    }
    if is_url(output) {
        return claim_url(output, kind, inputs, force);
    }
    let place = OutputFile::of(output)?;
    place.refuse_inputs(inputs)?;
    place.refuse_folders(inputs, kind)?;
    refuse_reserved(output)?;
    let Some(found) = metadata(&place.path) else { return place.in_folder() };
    if !found.is_file() {
        return Err(match found.is_dir() {
            true => kept(&place.shown, "a folder", "name a file"),
            false => no_plain_file(&place.shown),
        });
    }
    if kind.is_that_of(&place.path) {
        return Ok(OutputFile { is_taken: true, ..place });
    }
    match force {
        Some(Force { force: true }) if place.is_index()? => {
            Err(kept(&place.shown, "an index", "remove it and its log first, or choose another name"))
        }
        Some(Force { force: true }) => Ok(OutputFile { is_taken: true, is_forced: true, ..place }),
        _ => Err(not_replaced(&place.shown, kind, force)),
    }
}

/// The refusal of a file of another kind.
fn not_replaced(shown: &str, kind: OutputKind, force: Option<Force>) -> Failure {
    let hint = match force {
        Some(_) => "choose another name, remove the file, or use --force",
        None => "choose another place, or remove the file",
    };
    kept(shown, &format!("{} and is not replaced", kind.denied()), hint)
}

/// As [`claim`], for a URL: an object is replaced as a whole when the new one is complete.
fn claim_url(output: &Path, kind: OutputKind, inputs: &[&Path], force: Option<Force>) -> Result<OutputFile> {
    let shown = output.display().to_string();
    if kind == OutputKind::Profile {
        return Err(Failure::refused(format!("a storage profile is not written to {shown}"), "name a local file"));
    }
    let (storage, name) = urls::place(output, false)?;
    let (path, folder) = (output.to_owned(), PathBuf::new());
    if ogive::lsm::is_store_object(&storage, &name)? {
        return Err(in_store(&shown));
    }
    let is_taken = storage.exists(&name)?;
    // Who may only write is not refused.
    if !is_taken && matches!(urls::is_folder(output), Ok(true)) {
        let hint = "choose another name, or use `ogive db ingest` to add a table to the store";
        return Err(kept(&shown, "a store, which a file of the same name would hide", hint));
    }
    let remote = Some(Arc::clone(&storage));
    let place = OutputFile { path, folder, name, remote, shown, is_taken, is_forced: false };
    place.refuse_inputs(inputs)?;
    place.refuse_folders(inputs, kind)?;
    if !is_taken {
        return Ok(place);
    }
    let table = || Table::open((storage, &place.name), &TableOptions::default());
    let is_of_kind = kind == OutputKind::Table && !matches!(table(), Err(Error { cause: Cause::NotATable, .. }));
    match force {
        _ if is_of_kind => Ok(place),
        Some(Force { force: true }) => Ok(OutputFile { is_forced: true, ..place }),
        _ => Err(not_replaced(&place.shown, kind, force)),
    }
}

/// Refuses a path in the folder of a store, or one that is the lock or a log segment of an index, whether the file
/// exists or not.
pub(crate) fn refuse_reserved(output: &Path) -> Result<()> {
    let place = OutputFile::of(output)?;
    match is_store_file(&place.path) {
        Ok(true) => return Err(in_store(&place.shown)),
        Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => {}
        found => _ = found?,
    }
    let folder = if place.folder.as_os_str().is_empty() { Path::new(".") } else { &place.folder };
    if may_be_store(folder) {
        let what = "in the folder of a store, where the store alone writes";
        return Err(kept(&place.shown, what, "choose another folder"));
    }
    let log_of =
        place.name.rsplit_once(".log-").filter(|(_, number)| number.bytes().all(|digit| digit.is_ascii_digit()));
    if let Some(name) = log_of.map(|(name, _)| name).or(place.name.strip_suffix(".lock"))
        && metadata(&place.folder.join(name)).is_some_and(|found| found.is_file())
        && (OutputFile { path: place.folder.join(name), name: name.to_owned(), ..place.clone() }).is_index()?
    {
        return Err(kept(&place.shown, "the lock or a log segment of an index", "choose another name"));
    }
    Ok(())
}

/// Refuses an input that is the output file, under any name.
pub(crate) fn refuse_same(output: &Path, input: &Path) -> Result<()> {
    OutputFile::of(output)?.refuse_inputs(&[input])
}

/// The refusal of a name that belongs to a store.
fn in_store(shown: &str) -> Failure {
    let what = "in the folder of a store, under a name that the store uses";
    kept(shown, what, "choose another name, or a folder that is not a store")
}

/// A refusal to replace a file.
fn kept(shown: &str, what: &str, hint: &str) -> Failure {
    Failure::refused(format!("{shown} is {what}"), hint)
}

fn no_plain_file(shown: &str) -> Failure {
    kept(shown, "not a regular file", "name a file; `ogive join` and `ogive export` accept - for standard output")
}

/// Whether a path stands for an open file of this process, which a rename would not reach.
fn is_open_file(path: &Path) -> bool {
    let names = ["/dev/stdin", "/dev/stdout", "/dev/stderr"];
    names.iter().any(|name| path == Path::new(name)) || path.starts_with("/dev/fd") || path.starts_with("/proc")
}

/// Metadata of the file that a path leads to. Errors are reported when the file is used.
fn metadata(path: &Path) -> Option<Metadata> {
    fs::metadata(path).ok()
}

impl OutputKind {
    /// Whether a file is of this kind, even if damaged.
    fn is_that_of(self, path: &Path) -> bool {
        match self {
            Self::Table => {
                !matches!(Table::open(path, &TableOptions::default()), Err(Error { cause: Cause::NotATable, .. }))
            }
            Self::Profile => Profile::load(path).is_ok(),
            Self::Page => is_page(path),
            Self::Plain => false,
        }
    }

    /// Description of a file of another kind.
    fn denied(self) -> &'static str {
        match self {
            Self::Table => "an existing file that is not an Ogive table",
            Self::Profile => "an existing file that is not a storage profile",
            Self::Page => "an existing file that is not a page of Ogive",
            Self::Plain => "an existing file",
        }
    }
}

/// Whether a file is a page that Ogive wrote: it says so near its beginning.
fn is_page(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(PAGE_HEAD_BYTES).read_to_end(&mut head));
    let mark = ogive_report::PAGE_MARK.as_bytes();
    read.is_ok() && head.windows(mark.len()).any(|part| part == mark)
}

impl OutputFile {
    /// Resolves a path, following links.
    fn of(output: &Path) -> Result<Self> {
        LocalStorage::split_path(output)?;
        let is_link = fs::symlink_metadata(output).is_ok_and(|found| found.is_symlink());
        let path = match is_link.then(|| output.canonicalize()) {
            None => output.to_owned(),
            Some(Ok(path)) => path,
            // A pipe, for example, has no path of its own.
            Some(Err(_)) if metadata(output).is_some() => return Err(no_plain_file(&output.display().to_string())),
            Some(Err(_)) => {
                return Err(kept(&output.display().to_string(), "a dangling symbolic link", "remove it first"));
            }
        };
        let (folder, name) = LocalStorage::split_path(&path)?;
        Ok(Self {
            path,
            folder,
            name,
            remote: None,
            shown: output.display().to_string(),
            is_taken: false,
            is_forced: false,
        })
    }

    /// Refuses a place whose folder does not exist.
    fn in_folder(self) -> Result<Self> {
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        match fs::metadata(folder) {
            Ok(_) => Ok(self),
            Err(source) => Err(Failure::File { action: "create", path: self.shown, source }),
        }
    }

    /// Refuses a place that is one of the inputs, under any name.
    ///
    /// # Errors
    /// [`Failure::Refused`].
    pub(crate) fn refuse_inputs(&self, inputs: &[&Path]) -> Result<()> {
        if self.remote.is_some() {
            return match inputs.contains(&self.path.as_path()) {
                true => Err(kept(&self.shown, "an input of this command", "choose another name")),
                false => Ok(()),
            };
        }
        let is_file_of = |input: &&&Path| self.path.exists() && is_inside(&self.path, input) && !may_be_store(input);
        if let Some(folder) = inputs.iter().find(is_file_of) {
            let what = format!("a file of {}, an input of this command", folder.display());
            return Err(kept(&self.shown, &what, "choose a place outside of it"));
        }
        match inputs.iter().find(|input| is_same_file(&self.path, input)) {
            None => Ok(()),
            Some(input) if input.as_os_str() == self.shown.as_str() => {
                Err(kept(&self.shown, "an input of this command", "choose another name, then rename the file"))
            }
            Some(input) => Err(kept(
                &self.shown,
                &format!("the same file as {}, an input of this command", input.display()),
                "choose another name, then rename the file",
            )),
        }
    }

    /// Refuses a new file in a folder that is an input: it would be a part of it the next time, unless it is a table.
    ///
    /// # Errors
    /// [`Failure::Refused`].
    fn refuse_folders(&self, inputs: &[&Path], kind: OutputKind) -> Result<()> {
        let is_part = |input: &&&Path| is_inside(&self.path, input) && (is_url(input) || !may_be_store(input));
        match inputs.iter().find(is_part) {
            Some(folder) if kind != OutputKind::Table => {
                let what = format!("in {}, whose files are the input of this command", folder.display());
                Err(kept(&self.shown, &what, "choose a place outside of it"))
            }
            _ => Ok(()),
        }
    }

    fn is_index(&self) -> Result<bool> {
        let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(&self.folder));
        match is_index(&storage, &self.name) {
            // Only an index fails in these ways.
            Err(Failure::Engine(Error { cause: Cause::Damaged | Cause::Version { .. } | Cause::Input, .. })) => {
                Ok(true)
            }
            found => found,
        }
    }

    /// The folder as storage, in which a file that is to be replaced counts as absent.
    pub(crate) fn storage(&self, open: impl FnOnce(PathBuf) -> LocalStorage) -> Arc<dyn Storage> {
        let inner = match &self.remote {
            Some(remote) => Arc::clone(remote),
            None => Arc::new(open(self.folder.clone())),
        };
        if self.is_forced { Arc::new(ReplacingFolder { inner, name: self.name.clone() }) } else { inner }
    }

    /// Adds to a failure that the input did not cause whether the old file is still there.
    pub(crate) fn left(&self, failure: Failure) -> Failure {
        let is_sudden = match &failure {
            Failure::Engine(error) => {
                matches!(error.cause, Cause::Interrupted | Cause::Io(ErrorKind::StorageFull))
            }
            _ => false,
        };
        match is_sudden {
            true if self.is_taken => failure.but(format!("{} is unchanged", self.shown)),
            true => failure.but(format!("{} was not created", self.shown)),
            false => failure,
        }
    }
}

/// A folder in which one name counts as absent.
#[derive(Debug)]
struct ReplacingFolder {
    inner: Arc<dyn Storage>,
    name: String,
}

impl StorageWrapper for ReplacingFolder {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn exists(&self, name: &str) -> ogive::Result<bool> {
        if name == self.name { Ok(false) } else { self.inner.exists(name) }
    }
}
