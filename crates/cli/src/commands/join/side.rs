//! The two inputs of a join: detection and opening.

use super::arguments::SideOptions;
use super::records;
use crate::commands::{db, index};
use crate::failure::{Failure, Result};
use crate::input::{Format, InputError, InputOptions, open_to_see};
use crate::interrupt::Interrupt;
use crate::load::{Target, examine, load};
use crate::scratch::Scratch;
use ogive::io::{LocalStorage, Profile, Storage};
use ogive::join::{JoinOutput, JoinSource};
use ogive::table::external::RecordFile;
use ogive::table::{Table, TableOptions};
use ogive::{Error, KeyType};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options for opening the inputs.
#[derive(Clone, Debug)]
pub(super) struct Opening<'a> {
    /// Whether reads bypass the page cache.
    pub(super) direct: bool,
    /// Memory of an open input, in bytes.
    pub(super) memory_bytes: u64,
    pub(super) profile: Profile,
    pub(super) interrupt: &'a Interrupt,
}

/// An open input.
#[derive(Debug)]
pub(super) struct OpenSide {
    pub(super) source: JoinSource,
    pub(super) key_type: KeyType,
    /// The file of its records, which may differ from the given one.
    pub(super) data: Option<PathBuf>,
    /// Whether direct reads were requested but are not supported.
    pub(super) refused_direct: bool,
    /// Whether this is an empty file whose keys may be of any type.
    fits_any_type: bool,
    /// Holds the contents of a pipe.
    _scratch: Option<Scratch>,
}

impl OpenSide {
    fn of(source: JoinSource, key_type: KeyType) -> Self {
        Self { source, key_type, data: None, refused_direct: false, fits_any_type: false, _scratch: None }
    }
}

/// Detected kind of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum InputKind {
    Table,
    Index,
    Store,
    File,
}

/// Bytes of a file, or of all files of a folder.
pub(super) fn length_bytes(path: &Path) -> u64 {
    let Ok(metadata) = std::fs::metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let files = std::fs::read_dir(path).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Opens both inputs, whose keys must be of one type. A file without typed keys takes the type of the other input.
///
/// # Errors
/// [`Failure::Usage`] for flags that do not apply to an input, [`Failure::Refused`] for keys of different types; errors
/// of inputs and of the engine.
pub(super) fn open(sides: &[SideOptions; 2], opening: &Opening<'_>) -> Result<[OpenSide; 2]> {
    let found = [find(&sides[0], opening)?, find(&sides[1], opening)?];
    let is_open_to_types = |side: &SideOptions, found: &InputKind| *found == InputKind::File && is_untyped(&side.input);
    let right_first = is_open_to_types(&sides[0], &found[0]) && !is_open_to_types(&sides[1], &found[1]);
    let (first, second) = if right_first { (1, 0) } else { (0, 1) };
    let mut one = sides[first].open(&found[first], None, opening)?;
    // An empty file of untyped keys has keys of any type.
    let wanted = (!one.fits_any_type).then(|| wanted_by(one.key_type));
    let other = sides[second].open(&found[second], wanted, opening)?;
    let is_untyped_store = found[first] == InputKind::Store && one.key_type == KeyType::Bytes;
    if one.fits_any_type || (is_untyped_store && !is_one_type(one.key_type, other.key_type)) {
        one = sides[first].open(&found[first], Some(wanted_by(other.key_type)), opening)?;
    }
    if !is_one_type(one.key_type, other.key_type) {
        return Err(Failure::refused(
            format!(
                "the keys of {} are of type {}, those of {} of type {}",
                sides[first].shown(),
                one.key_type,
                sides[second].shown(),
                other.key_type
            ),
            "the keys of both inputs must have one type; --key-type sets the type of the keys of files",
        ));
    }
    Ok(if right_first { [other, one] } else { [one, other] })
}

/// The type of the keys of the other input, if it has none of its own: bytes of any length may be compared with those
/// of one length.
fn wanted_by(key_type: KeyType) -> KeyType {
    if matches!(key_type, KeyType::FixedBytes(_)) { KeyType::Bytes } else { key_type }
}

/// Whether keys of two types are equal when their bytes are. The keys of a store may be untyped bytes.
fn is_one_type(one: KeyType, other: KeyType) -> bool {
    let is_plain = |key_type| matches!(key_type, KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_));
    // Keys of indexes of these types can be compared with those of a table or store that has their bytes.
    let has_bytes = |key_type| matches!(key_type, KeyType::Bytes | KeyType::U32 | KeyType::I128);
    let is_bytes = one == KeyType::Bytes || other == KeyType::Bytes;
    one == other || (is_plain(one) && is_plain(other)) || (is_bytes && has_bytes(one) && has_bytes(other))
}

fn is_untyped(input: &InputOptions) -> bool {
    input.key_type.is_none() && !input.has_typed_keys()
}

fn find(side: &SideOptions, opening: &Opening<'_>) -> Result<InputKind> {
    let path = &side.input.path;
    let found = if path.is_dir() {
        InputKind::Store
    } else if side.input.format.is_some() || (path.exists() && !path.is_file()) {
        InputKind::File
    } else {
        let (storage, name) = place(path, opening.direct)?;
        match open_to_see(&storage, &name) {
            Ok(_) => InputKind::Table,
            Err(Error::NotATable { .. }) if index::is_index(&storage, &name)? => InputKind::Index,
            Err(Error::NotATable { .. }) => {
                side.input.refuse_damaged()?;
                InputKind::File
            }
            Err(error) => return Err(error.into()),
        }
    };
    side.check_flags(&found)?;
    Ok(found)
}

fn place(path: &Path, direct: bool) -> Result<(Arc<dyn Storage>, String)> {
    let (folder, name) = LocalStorage::split_path(path)?;
    let storage = if direct { LocalStorage::direct(folder) } else { LocalStorage::new(folder) };
    Ok((Arc::new(storage), name))
}

impl SideOptions {
    /// The input's path, for messages.
    fn shown(&self) -> String {
        self.input.path.display().to_string()
    }

    /// Refuses flags that would be ignored.
    fn check_flags(&self, found: &InputKind) -> Result<()> {
        let has_columns = !self.input.key.is_empty() || !self.input.value.is_empty();
        if has_columns && *found != InputKind::File {
            return Err(Failure::usage(
                format!("{} is not a file with columns", self.shown()),
                format!("remove --{0}-key and --{0}-value", self.word),
            ));
        }
        let is_cut = self.from.is_some() || self.to.is_some();
        if is_cut && *found != InputKind::Store {
            return Err(Failure::usage(
                format!("{} is not a store", self.shown()),
                format!("remove --{0}-from and --{0}-to", self.word),
            ));
        }
        Ok(())
    }

    fn open(&self, found: &InputKind, wanted: Option<KeyType>, opening: &Opening<'_>) -> Result<OpenSide> {
        match found {
            InputKind::Table => self.open_table(opening),
            InputKind::Index => {
                let (storage, name) = place(&self.input.path, opening.direct)?;
                let (source, key_type) = index::relation(&storage, &name, opening.memory_bytes)?;
                Ok(OpenSide::of(source, key_type))
            }
            InputKind::Store => {
                let asked = (self.input.key_type, wanted);
                let bounds = (self.from.as_deref(), self.to.as_deref());
                let path = &self.input.path;
                let (source, key_type) = db::relation(path, &self.keyspace, asked, bounds, opening.memory_bytes)?;
                Ok(OpenSide::of(source, key_type))
            }
            InputKind::File => match self.open_file(wanted, opening) {
                // An empty file is a valid input of a join.
                Err(Failure::Input(InputError::Empty { .. })) => {
                    let typed = (self.input.format() == Format::Sosd).then_some(KeyType::U64);
                    let own = self.input.key_type.or(typed);
                    let key_type = own.or(wanted).unwrap_or(KeyType::Text);
                    let source = records::empty(&self.input, key_type)?;
                    Ok(OpenSide { fits_any_type: own.is_none(), ..OpenSide::of(source, key_type) })
                }
                opened => opened,
            },
        }
    }

    fn open_table(&self, opening: &Opening<'_>) -> Result<OpenSide> {
        let (storage, name) = place(&self.input.path, opening.direct)?;
        let options = TableOptions::default().memory_bytes(opening.memory_bytes).profile(opening.profile.clone());
        let table = Table::open(storage, &name, &options)?;
        Ok(OpenSide {
            data: Some(table.data_path().to_owned()),
            refused_direct: opening.direct && !table.is_direct(),
            ..OpenSide::of(JoinSource::table(&table), table.key_type())
        })
    }

    fn open_file(&self, wanted: Option<KeyType>, opening: &Opening<'_>) -> Result<OpenSide> {
        if !self.input.is_rereadable() {
            return self.open_pipe(wanted, opening);
        }
        let wanted = wanted.filter(|_| is_untyped(&self.input));
        let input = InputOptions { key_type: self.input.key_type.or(wanted), ..self.input.clone() };
        let plan = examine(&input, opening.interrupt)?;
        if input.format() == Format::Sosd && input.payload.is_none() && plan.schema.record_type.keys == KeyType::U64 {
            let (storage, name) = place(&input.path, opening.direct)?;
            if let Some(layout) = sosd_layout(&input.path) {
                let source = JoinSource::records(&*storage, &name, layout, !plan.sort)?;
                return Ok(OpenSide::of(source, KeyType::U64));
            }
        }
        Ok(OpenSide::of(records::source(&input, &plan.schema)?, plan.schema.record_type.keys))
    }

    /// Copies a pipe, which can be read only once, to a sorted temporary table.
    fn open_pipe(&self, wanted: Option<KeyType>, opening: &Opening<'_>) -> Result<OpenSide> {
        let scratch = Scratch::create()?;
        let storage = scratch.storage();
        let input = InputOptions { key_type: self.input.key_type.or(wanted), ..self.input.clone() };
        let target = Target {
            storage: storage.clone(),
            name: "piped".into(),
            options: JoinOutput::options(),
            memory_bytes: opening.memory_bytes,
        };
        load(&input, &target, "copying the pipe", opening.interrupt)?;
        let options = TableOptions::default().memory_bytes(opening.memory_bytes).profile(opening.profile.clone());
        let table = Table::open(storage, "piped", &options)?;
        Ok(OpenSide { _scratch: Some(scratch), ..OpenSide::of(JoinSource::table(&table), table.key_type()) })
    }
}

/// Layout of the records in a SOSD file of 8-byte keys.
fn sosd_layout(path: &Path) -> Option<RecordFile> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    (!name.ends_with(".u32") && !name.ends_with("_uint32")).then(|| RecordFile::sosd(0))
}
