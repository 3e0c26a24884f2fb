//! The two inputs of a join: detection and opening.

use super::arguments::{OnColumns, SideOptions};
use super::on::{JoinedOn, SideColumns};
use super::records::{self, Fault, FileSource};
#[cfg(feature = "parquet")]
use crate::beside::records::relation;
use crate::commands::db::{self, ClockAhead};
use crate::commands::index;
use crate::failure::{Failure, Result};
use crate::input::{Format, InputColumns, InputError, InputOptions, Schema, TypeSample, open_to_look};
use crate::interrupt::Interrupt;
use crate::load::{Examined, Target, examine, examine_both, load};
use crate::output::note;
#[cfg(feature = "parquet")]
use crate::places::is_beside;
use crate::shell::shell_line;
use crate::urls::{is_folder, is_url, place};
use ogive::io::Profile;
use ogive::io::ScratchFolder;
use ogive::join::{JoinKind, JoinOutput, JoinSource};
use ogive::table::external::RecordFile;
use ogive::table::{Table, TableOptions};
use ogive::{Cause, Error, FileFormat, KeyType};
use ogive_text::Separated;
use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// Files of text from this length on are read only once if that is possible: shorter ones are read again in a few
/// milliseconds.
const LONG_BYTES: u64 = 4 << 20;

/// Parts of advice on inputs that do not apply to the sides of a join.
const OF_OTHER_COMMANDS: [&str; 2] =
    [", with --skip-bad-rows FILE to leave rows out", " (in a join, --left-format or --right-format)"];

/// Options for opening the inputs.
#[derive(Clone, Debug)]
pub(super) struct Opening<'a> {
    /// Whether reads bypass the page cache.
    pub(super) direct: bool,
    /// Memory of an open input, in bytes.
    pub(super) memory_bytes: u64,
    /// How far the clock may be ahead of the time of an input that is a store.
    pub(super) clock: ClockAhead,
    pub(super) profile: Profile,
    /// Whether it is that of both inputs; else it is that of an input behind a URL, if there is one.
    pub(super) is_profile_given: bool,
    pub(super) interrupt: &'a Interrupt,
    pub(super) kind: JoinKind,
    /// The form of the output, if its rows have the values of both sides as text.
    pub(super) form: Option<Separated>,
    /// Whether long files of text are read only while they are joined, though their types are guessed from their first
    /// rows: a later row that is not of these types ends the join then.
    pub(super) reads_once: bool,
    /// Whether that was done.
    pub(super) has_deferred: Cell<bool>,
}

impl Opening<'_> {
    /// How a table is opened to be joined.
    fn table_options(&self) -> TableOptions {
        TableOptions::default().memory_bytes(self.memory_bytes).profile(self.profile.clone())
    }

    /// Whether rows of a side without partner are returned.
    fn keeps_rows_of(&self, side: usize) -> bool {
        if side == 0 { self.kind.keeps_unmatched() } else { self.kind.keeps_unmatched_right() }
    }
}

/// An open input.
#[derive(Debug)]
pub(super) struct OpenSide {
    pub(super) source: JoinSource,
    /// The same with values that are the rest of a row of the output.
    printed: Option<JoinSource>,
    /// The failure that ended the reading of a file.
    fault: Option<Fault>,
    /// The columns of a file that was not read before, of which there may be something to tell.
    untold: Option<Schema>,
    pub(super) key_type: KeyType,
    /// The file of its records, which may differ from the given one.
    pub(super) data: Option<PathBuf>,
    /// Whether direct reads were requested but are not supported.
    pub(super) refused_direct: bool,
    /// Whether it is a table or an index without records, whose keys may be of any type.
    is_empty: bool,
    /// Holds the contents of a pipe.
    copy: Option<ScratchFolder>,
}

impl OpenSide {
    fn of(source: JoinSource, key_type: KeyType) -> Self {
        Self {
            source,
            printed: None,
            fault: None,
            untold: None,
            key_type,
            data: None,
            refused_direct: false,
            is_empty: false,
            copy: None,
        }
    }

    /// The failure that ended the reading of its file, if there was one.
    pub(super) fn take_fault(&self) -> Option<Failure> {
        self.fault.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Tells where numbers became text, unless that was told.
    pub(super) fn tell(&self) {
        self.untold.iter().for_each(Schema::tell);
    }

    /// The names of the columns of its key.
    fn key_columns(&self) -> SideColumns {
        let columns = &self.source.record_type().key_columns;
        SideColumns::Keyed(columns.iter().map(|column| column.name.clone()).collect())
    }

    /// The same, on a local disk, whatever the profile of the join is of.
    fn stored_locally(self) -> Self {
        let printed = self.printed.map(JoinSource::stored_locally);
        Self { source: self.source.stored_locally(), printed, ..self }
    }

    /// The same, with keys of another type if it has no records.
    fn of_keys(self, key_type: KeyType) -> Self {
        if !self.is_empty || self.key_type == key_type {
            return self;
        }
        Self { source: records::without_records(&self.source, key_type), key_type, ..self }
    }
}

/// Both sides with values that are the rest of a row of the output, if both can have them.
pub(super) fn printed([left, right]: [&OpenSide; 2]) -> Option<[&JoinSource; 2]> {
    Some([left.printed.as_ref()?, right.printed.as_ref()?])
}

/// Detected kind of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum InputKind {
    Table,
    #[cfg(feature = "parquet")]
    Beside,
    Index,
    Store,
    File,
}

/// What an input was found to be.
#[derive(Debug)]
struct FoundInput {
    kind: InputKind,
    /// The table that it is, as it was opened to find that out.
    table: Option<Table>,
}

impl FoundInput {
    /// The table that it is.
    fn table(&self, side: &SideOptions, opening: &Opening<'_>) -> Result<Table> {
        if let Some(table) = &self.table {
            return Ok(table.clone());
        }
        Ok(Table::open(place(&side.input.path, opening.direct)?, &opening.table_options())?)
    }
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

/// Opens both inputs, whose keys must be of one type, and finds the columns that are compared. A file without typed
/// keys takes the type of the other input.
///
/// # Errors
/// [`Failure::Usage`] for flags that do not apply to an input, [`Failure::Refused`] for keys of different types; errors
/// of inputs and of the engine.
pub(super) fn open(
    mut sides: [SideOptions; 2],
    on: &OnColumns,
    opening: &Opening<'_>,
) -> Result<([OpenSide; 2], JoinedOn)> {
    let found = [find(&sides[0], opening)?, find(&sides[1], opening)?];
    if opening.clock.is_given() && found.iter().all(|found| found.kind != InputKind::Store) {
        return Err(Failure::usage("--clock-ahead is for stores, and no input is one", "remove --clock-ahead"));
    }
    let mut copies = [None, None];
    for side in 0..2 {
        if found[side].kind == InputKind::File {
            let (input, copy) = sides[side].input.near(opening.interrupt)?;
            (sides[side].input, copies[side]) = (input, copy);
        }
    }
    let (opened, joined_on) = open_sorted_first(&mut sides, &found, on, opening)?;
    let mut side = 0;
    let opened = opened.map(|opened| {
        let is_local = sides[side].input.spool.is_some() || !is_url(&sides[side].input.path);
        let opened = OpenSide { copy: opened.copy.or(copies[side].take()), ..opened };
        side += 1;
        if is_local && !opening.is_profile_given { opened.stored_locally() } else { opened }
    });
    Ok((opened, joined_on))
}

/// Opens both inputs: one that has a key before a file, which may have a column of its name.
fn open_sorted_first(
    sides: &mut [SideOptions; 2],
    found: &[FoundInput; 2],
    on: &OnColumns,
    opening: &Opening<'_>,
) -> Result<([OpenSide; 2], JoinedOn)> {
    let keyed = match found.each_ref().map(|found| found.kind == InputKind::File) {
        [true, true] => None,
        [false, false] => {
            let opened = open_both(sides, found, None, opening)?;
            let columns = opened.each_ref().map(OpenSide::key_columns);
            let joined_on = JoinedOn::choose([&sides[0], &sides[1]], columns, on)?;
            return Ok((opened, joined_on));
        }
        [is_file, _] => {
            let first = usize::from(is_file);
            Some((first, sides[first].open(&found[first], None, opening)?))
        }
    };
    let joined_on = join_on(sides, keyed.as_ref().map(|(first, side)| (*first, side)), on)?;
    Ok((open_both(sides, found, keyed, opening)?, joined_on))
}

/// The columns that are compared; sets those of files. `keyed` is the side that is open, if any has a key.
fn join_on(sides: &mut [SideOptions; 2], keyed: Option<(usize, &OpenSide)>, on: &OnColumns) -> Result<JoinedOn> {
    let columns_of = |side: usize| match keyed {
        Some((open, found)) if open == side => Ok(found.key_columns()),
        _ => sides[side].columns(),
    };
    let columns = [columns_of(0)?, columns_of(1)?];
    let joined_on = JoinedOn::choose([&sides[0], &sides[1]], columns.clone(), on)?;
    for (side, columns) in columns.iter().enumerate() {
        joined_on.apply(side, &mut sides[side], columns);
    }
    Ok(joined_on)
}

/// Opens both inputs, of which one may be open, with keys of one type.
fn open_both(
    sides: &[SideOptions; 2],
    found: &[FoundInput; 2],
    keyed: Option<(usize, OpenSide)>,
    opening: &Opening<'_>,
) -> Result<[OpenSide; 2]> {
    let are_typed = [0, 1].map(|side| found[side].kind != InputKind::File || !is_untyped(&sides[side].input));
    let first = match &keyed {
        Some((open, _)) => *open,
        None => usize::from(!are_typed[0] && are_typed[1]),
    };
    let second = 1 - first;
    let (one, other) = if are_typed == [false, false] {
        let [left, right] = open_texts(sides, opening)?;
        (left, right)
    } else {
        let mut one = match keyed {
            Some((_, open)) => open,
            None => sides[first].open(&found[first], None, opening)?,
        };
        let opened = sides[second].open(&found[second], Some((wanted_by(one.key_type), &sides[first])), opening);
        let other = match opened {
            // Nothing has to fit the keys of a side without records.
            Err(_) if one.is_empty => sides[second].open(&found[second], None, opening)?,
            opened => opened?,
        };
        let is_untyped_store = found[first].kind == InputKind::Store && one.key_type == KeyType::Bytes;
        if is_untyped_store && !is_one_type(one.key_type, other.key_type) {
            let wanted = Some((wanted_by(other.key_type), &sides[second]));
            one = sides[first].open(&found[first], wanted, opening)?;
        }
        if is_one_type(one.key_type, other.key_type) {
            (one, other)
        } else {
            let (one_type, other_type) = (one.key_type, other.key_type);
            let one = one.of_keys(other_type);
            let other = if one.is_empty { other } else { other.of_keys(one_type) };
            (one, other)
        }
    };
    let opened = if first == 1 { [other, one] } else { [one, other] };
    compare_keys(sides, found, &opened)?;
    Ok(opened)
}

/// Refuses keys that cannot be compared, and tells that those of two types are.
fn compare_keys(sides: &[SideOptions; 2], found: &[FoundInput; 2], opened: &[OpenSide; 2]) -> Result<()> {
    let keys = opened.each_ref().map(|side| side.key_type);
    let [left, right] = [0, 1].map(|side| format!("{} are of type {}", sides[side].shown(), keys[side]));
    if is_one_type(keys[0], keys[1]) {
        let [one, other] = [keys[0].with_nulls(), keys[1].with_nulls()];
        if keys[0].is_comparable(keys[1]) && one.ok() != other.ok() {
            note(format_args!("note: the keys of {left}, those of {right}: they match where they are equal"));
        }
        return Ok(());
    }
    let is_of_text = |side: &usize| matches!(keys[*side], KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_));
    let hint = match [0, 1].into_iter().find(is_of_text) {
        Some(side) => {
            let (path, other) = (sides[side].input.path.clone(), keys[1 - side]);
            let words: [OsString; 3] = ["export".into(), path.into(), "keys.csv".into()];
            let remedy = match found[side].kind {
                InputKind::File => format!("give {}", sides[side].typed_as(&opened[side], other)),
                _ => format!("write them with `{}`, and join that file instead", shell_line(words.into_iter())),
            };
            format!("if all keys of {} can be read as {other}, {remedy}", sides[side].shown())
        }
        None => "both must have one type, or be numbers; choose such columns with --on".to_owned(),
    };
    Err(Failure::refused(
        format!("the keys of both inputs must have one type: those of {left}, those of {right}"),
        hint,
    ))
}

/// Opens two text files, whose keys get the narrowest type that fits all of them.
fn open_texts(sides: &[SideOptions; 2], opening: &Opening<'_>) -> Result<[OpenSide; 2]> {
    let [(left, left_copy), (right, right_copy)] =
        [sides[0].input.rereadable(opening.interrupt)?, sides[1].input.rereadable(opening.interrupt)?];
    let explained = |side: usize| move |failure| sides[side].explain(failure, None);
    // A file of lines without any has keys of any type.
    let is_bare = |side: usize, input: &InputOptions| match input.schema(TypeSample::Start) {
        Err(Failure::Input(InputError::Empty { .. })) if !input.has_columns() => Ok(true),
        schema => schema.map(|_| false).map_err(explained(side)),
    };
    let one = |input: &InputOptions, side: usize, copy, other: &SideOptions| {
        let found = examine(input, opening.interrupt).map_err(explained(side))?;
        let bare = other.open_empty(None, Some(found.key_type()));
        Ok::<_, Failure>((of_records(input, &found, copy, (None, opening.keeps_rows_of(side)))?, bare))
    };
    match (is_bare(0, &left)?, is_bare(1, &right)?) {
        (true, true) => Ok([sides[0].open_empty(None, None), sides[1].open_empty(None, None)]),
        (false, true) => one(&left, 0, left_copy, &sides[1]).map(|(opened, bare)| [opened, bare]),
        (true, false) => one(&right, 1, right_copy, &sides[0]).map(|(opened, bare)| [bare, opened]),
        (false, false) => {
            if let Some([left, right]) = read_later([&left, &right], opening)? {
                return Ok([OpenSide { copy: left_copy, ..left }, OpenSide { copy: right_copy, ..right }]);
            }
            let found = examine_both([&left, &right], opening.interrupt);
            let [of_left, of_right] = found.map_err(|failed| sides[failed.0].explain(failed.1, None))?;
            let (left_keys, right_keys) = (of_left.key_type(), of_right.key_type());
            let fits_any_type = |found: &Examined| {
                found.records + found.null_keys == 0 && found.plan.schema.keys.iter().all(|key| key.guessed)
            };
            let is_any = |found: &Examined| fits_any_type(found) && left_keys != right_keys;
            let open = |side: usize, input: &InputOptions, found: &Examined, other_keys, copy| match is_any(found) {
                true => Ok(sides[side].open_empty(Some(&found.plan.schema), Some(other_keys))),
                false => of_records(input, found, copy, (opening.form, opening.keeps_rows_of(side))),
            };
            Ok([open(0, &left, &of_left, right_keys, left_copy)?, open(1, &right, &of_right, left_keys, right_copy)?])
        }
    }
}

/// Two text files that are not read before they are joined, if that is allowed and saves time.
fn read_later(inputs: [&InputOptions; 2], opening: &Opening<'_>) -> Result<Option<[OpenSide; 2]>> {
    let bytes: u64 = inputs.iter().map(|input| length_bytes(input.spool.as_deref().unwrap_or(&input.path))).sum();
    if !opening.reads_once || bytes < LONG_BYTES {
        return Ok(None);
    }
    let mut schemas = [inputs[0].schema(TypeSample::Start)?, inputs[1].schema(TypeSample::Start)?];
    Schema::unite_keys(&mut schemas, [&inputs[0].path, &inputs[1].path]);
    let mut has_null_rows = [false, false];
    for (side, schema) in schemas.iter_mut().enumerate() {
        match schema.has_seen_null_keys() {
            _ if !opening.keeps_rows_of(side) => {}
            Some(has_seen) => {
                has_null_rows[side] = has_seen;
                // If there is one later, the types of the output are others.
                *schema = if has_seen { schema.clone() } else { schema.clone().refusing_null_keys() };
            }
            None => return Ok(None),
        }
    }
    let file = |side: usize| records::source(inputs[side], &schemas[side], opening.form, has_null_rows[side]);
    let files = [file(0)?, file(1)?];
    // The keys of a file without records may be of any type.
    if files.iter().any(|file| !file.has_records) {
        return Ok(None);
    }
    opening.has_deferred.set(true);
    let [left, right] = files;
    let [of_left, of_right] = schemas;
    let open = |file, schema: Schema| OpenSide { untold: Some(schema.clone()), ..of_file(file, &schema, None) };
    Ok(Some([open(left, of_left), open(right, of_right)]))
}

/// An input that was read once, with the copy of a pipe.
fn of_records(
    input: &InputOptions,
    found: &Examined,
    copy: Option<ScratchFolder>,
    (form, keeps_rows): (Option<Separated>, bool),
) -> Result<OpenSide> {
    let schema = &found.plan.schema;
    let file = records::source(input, schema, form, keeps_rows && found.null_keys > 0)?;
    let (source, printed) = (file.source.with_longest_record(found.longest_bytes), file.printed);
    let printed = printed.map(|printed| printed.with_longest_record(found.longest_bytes));
    Ok(of_file(FileSource { source, printed, ..file }, schema, copy))
}

/// A file, with the copy of a pipe.
fn of_file(file: FileSource, schema: &Schema, copy: Option<ScratchFolder>) -> OpenSide {
    let FileSource { source, printed, fault, .. } = file;
    let opened = OpenSide::of(source, schema.record_type.keys);
    OpenSide { printed, fault: Some(fault), copy, ..opened }
}

/// The type of the keys of the other input, if it has none of its own: bytes of any length may be compared with those
/// of one length.
fn wanted_by(key_type: KeyType) -> KeyType {
    if matches!(key_type, KeyType::FixedBytes(_)) { KeyType::Bytes } else { key_type }
}

/// Whether keys of two types can be compared: they are numbers, or equal when their bytes are. The keys of a store may
/// be untyped bytes.
fn is_one_type(one: KeyType, other: KeyType) -> bool {
    let is_plain = |key_type| matches!(key_type, KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_));
    // Keys of indexes of these types can be compared with those of a table or store that has their bytes.
    let has_bytes = |key_type| matches!(key_type, KeyType::Bytes | KeyType::U32 | KeyType::I128);
    let is_bytes = one == KeyType::Bytes || other == KeyType::Bytes;
    one.is_comparable(other) || (is_plain(one) && is_plain(other)) || (is_bytes && has_bytes(one) && has_bytes(other))
}

fn is_untyped(input: &InputOptions) -> bool {
    input.key_type.is_none() && !input.has_typed_keys()
}

fn find(side: &SideOptions, opening: &Opening<'_>) -> Result<FoundInput> {
    let path = &side.input.path;
    let mut table = None;
    let kind = if side.input.is_folder() {
        InputKind::File
    } else if is_folder(path)? {
        InputKind::Store
    } else if side.input.format.is_some() || (path.exists() && !path.is_file()) {
        InputKind::File
    } else {
        let (storage, name) = place(path, opening.direct)?;
        // The length of text may be that of a table with a long tail, which would be read in vain.
        if is_url(path) && side.input.has_name_of_input() {
            let found = FileFormat::at(path).map_err(|error| Failure::of_opening(path, error))?;
            if found.is_none() {
                side.input.refuse_damaged_as(None)?;
                side.check_flags(&InputKind::File)?;
                return Ok(FoundInput { kind: InputKind::File, table: None });
            }
        }
        let looked_at = match Table::open((storage.clone(), &name), &opening.table_options()) {
            // It tells how much memory it takes when it is opened to be joined.
            Err(Error { cause: Cause::Memory { .. }, .. }) => open_to_look(&storage, &name),
            Ok(opened) => Ok(table.insert(opened).clone()),
            Err(error) => Err(error),
        };
        match looked_at {
            #[cfg(feature = "parquet")]
            Ok(table) if is_beside(&table) => InputKind::Beside,
            Ok(_) => InputKind::Table,
            Err(Error { cause: Cause::NotATable, .. }) if !is_url(path) && index::is_index(&storage, &name)? => {
                InputKind::Index
            }
            Err(Error { cause: Cause::NotATable, .. }) => {
                side.input.refuse_damaged()?;
                InputKind::File
            }
            Err(error) => return Err(Failure::of_opening(path, error)),
        }
    };
    side.check_flags(&kind)?;
    Ok(FoundInput { kind, table })
}

impl SideOptions {
    /// Refuses flags that would be ignored.
    fn check_flags(&self, found: &InputKind) -> Result<()> {
        #[cfg(feature = "parquet")]
        let takes_values = matches!(found, InputKind::File | InputKind::Beside);
        #[cfg(not(feature = "parquet"))]
        let takes_values = *found == InputKind::File;
        let has_columns = !self.input.key.is_empty() || !self.input.value.is_empty() && !takes_values;
        if has_columns && *found != InputKind::File {
            return Err(Failure::usage(
                format!("{} is not a file with columns", self.shown()),
                format!("remove --{0}-key and --{0}-value", self.word),
            ));
        }
        let is_typed = !self.input.column_types.is_empty() || self.input.delimiter.is_some();
        if is_typed && *found != InputKind::File {
            return Err(Failure::usage(
                format!("{} is not a text file", self.shown()),
                format!("remove --{0}-type and --{0}-delimiter", self.word),
            ));
        }
        let is_cut = self.keyspace.is_some() || self.from.is_some() || self.to.is_some();
        if is_cut && *found != InputKind::Store {
            return Err(Failure::usage(
                format!("{} is not a store", self.shown()),
                format!("remove --{0}-keyspace, --{0}-from and --{0}-to", self.word),
            ));
        }
        Ok(())
    }

    /// The columns that it can be joined by, of a file or of another side that is not open.
    fn columns(&self) -> Result<SideColumns> {
        let explained = |failure| self.explain(failure, None);
        Ok(match self.input.column_names().map_err(explained)? {
            InputColumns::Keys(names) => SideColumns::Keyed(names),
            InputColumns::Unnamed(count) => SideColumns::Unnamed(count),
            InputColumns::Named(names) => SideColumns::Named(names),
        })
    }

    /// Opens it, with keys of the type of the other input, if they have none of their own.
    fn open(&self, found: &FoundInput, wanted: Option<(KeyType, &Self)>, opening: &Opening<'_>) -> Result<OpenSide> {
        match found.kind {
            InputKind::Table => self.open_table(found.table(self, opening)?, opening),
            #[cfg(feature = "parquet")]
            InputKind::Beside => self.open_beside(found.table(self, opening)?, opening),
            InputKind::Index => {
                let (storage, name) = place(&self.input.path, opening.direct)?;
                let (source, key_type) = index::relation(&storage, &name, opening.memory_bytes)?;
                let is_empty = source.is_empty();
                Ok(OpenSide { is_empty, ..OpenSide::of(source, key_type) })
            }
            InputKind::Store => {
                let asked = (self.input.key_type, wanted.map(|(wanted, _)| wanted));
                let bounds = (self.from.as_deref(), self.to.as_deref());
                let flag = format!("--{}-keyspace", self.word);
                let keyspace = (flag.as_str(), self.keyspace.as_deref());
                let resources = (opening.memory_bytes, opening.clock);
                let (source, key_type) = db::relation(&self.input.path, keyspace, asked, bounds, resources)?;
                Ok(OpenSide::of(source, key_type))
            }
            InputKind::File => match self.open_file_beside(wanted, opening) {
                // A file of lines without any is a valid input of a join. Other empty files do not tell their columns.
                Err(Failure::Input(InputError::Empty { .. })) if !self.input.has_columns() => {
                    Ok(self.open_empty(None, wanted.map(|(wanted, _)| wanted)))
                }
                opened => opened.map_err(|failure| self.explain(failure, wanted)),
            },
        }
    }

    /// A file without records, whose keys may be of any type.
    fn open_empty(&self, schema: Option<&Schema>, wanted: Option<KeyType>) -> OpenSide {
        let typed = (self.input.format() == Format::Sosd).then_some(KeyType::U64);
        let key_type = self.input.key_type.or(typed).or(wanted).unwrap_or(KeyType::Text);
        OpenSide::of(records::empty(&self.input, schema, key_type), key_type)
    }

    /// Says what makes the type of a key wrong, and names the options of this side.
    pub(super) fn explain(&self, failure: Failure, wanted: Option<(KeyType, &Self)>) -> Failure {
        let error = match failure {
            Failure::Usage { message, hint } => return Failure::usage(self.of_side(&message), self.of_side(&hint)),
            Failure::Refused { message, hint } => return Failure::refused(message, self.of_side(&hint)),
            Failure::Input(error) => error,
            failure => return failure,
        };
        let hint = match (&error, wanted) {
            (InputError::WrongType { is_key: true, .. }, Some((key_type, other))) if is_untyped(&self.input) => {
                format!("it is read as {key_type}, the type of the keys of {}; correct or remove it", other.shown())
            }
            (InputError::WrongType { is_key: true, column: Some(column), written, wanted, .. }, None)
                if written.as_deref().is_none_or(str::is_empty) && self.input.key_type.is_none() =>
            {
                format!("allow nulls, which match nothing, with --{}-type '{column}={wanted}?'", self.word)
            }
            (InputError::WrongType { is_key: true, written, .. }, _)
                if !written.as_deref().is_none_or(str::is_empty) =>
            {
                "choose another type with --key-type, or with --left-type and --right-type".into()
            }
            (InputError::BadRow { path, .. }, _) => {
                let words: [OsString; 4] = ["build".into(), path.into(), "--skip-bad-rows".into(), "bad.csv".into()];
                let build = shell_line(words.into_iter().chain(["-o".into(), "good.ogive".into()]));
                format!("correct the row, or join a table of the others, as `{build}` makes it")
            }
            _ => error.hint().map(|hint| self.of_side(&hint)).unwrap_or_default(),
        };
        match error {
            InputError::Io { .. } => error.into(),
            // Its message has the advice.
            InputError::Malformed { path, detail } => {
                InputError::Malformed { path, detail: self.of_side(&detail) }.into()
            }
            error if hint.is_empty() => error.into(),
            error => Failure::refused(error.to_string(), hint),
        }
    }

    /// The options that give those columns of a key that are of other types the types of the other input's.
    fn typed_as(&self, opened: &OpenSide, other: KeyType) -> String {
        let parts = |key_type| match key_type {
            KeyType::Tuple(tuple) => tuple.components().map(|component| component.key_type).collect(),
            scalar => vec![scalar],
        };
        let names = opened.source.record_type().key_columns.iter().map(|column| &column.name);
        let typed = names.zip(parts(opened.key_type).into_iter().zip(parts(other)));
        let options = typed.filter(|(_, (own, other))| !own.is_comparable(*other));
        let options: Vec<String> =
            options.map(|(name, (_, other))| format!("--{}-type '{name}={other}'", self.word)).collect();
        if options.is_empty() { format!("--key-type '{other}'") } else { options.join(" ") }
    }

    /// Advice on options that have the name of their side in front, and on none that a join does not have.
    fn of_side(&self, hint: &str) -> String {
        let hint = OF_OTHER_COMMANDS.into_iter().fold(hint.to_owned(), |hint, part| hint.replace(part, ""));
        let flags = ["--key ", "--value", "--type", "--delimiter", "--format"];
        flags
            .into_iter()
            .fold(hint, |hint, flag| hint.replace(flag, &flag.replacen("--", &format!("--{}-", self.word), 1)))
    }

    fn open_table(&self, table: Table, opening: &Opening<'_>) -> Result<OpenSide> {
        crate::input::refuse_beside(&table)?;
        Ok(OpenSide {
            data: Some(table.data_path().to_owned()),
            refused_direct: opening.direct && !is_url(&self.input.path) && !table.is_direct(),
            is_empty: table.is_empty(),
            ..OpenSide::of(JoinSource::table(&table), table.key_type())
        })
    }

    /// The rows of an index of Parquet files, with the columns that are chosen as values, or all.
    #[cfg(feature = "parquet")]
    fn open_beside(&self, table: Table, opening: &Opening<'_>) -> Result<OpenSide> {
        let columns: Vec<String> = self.input.value.iter().map(|column| column.0.clone()).collect();
        let (source, key_type) = relation(&self.input.path, table, &columns, opening.profile.clone())?;
        Ok(OpenSide::of(source, key_type))
    }

    /// As [`Self::open_file`]. Numbers of which some are none of the type of the other input stay numbers of their own.
    fn open_file_beside(&self, wanted: Option<(KeyType, &Self)>, opening: &Opening<'_>) -> Result<OpenSide> {
        let opened = self.open_file(wanted, opening);
        let Some((key_type, _)) = wanted else { return opened };
        let is_wrong = matches!(&opened, Err(Failure::Input(InputError::WrongType { is_key: true, .. })));
        if !is_wrong || !is_untyped(&self.input) || !self.input.is_rereadable() {
            return opened;
        }
        match self.input.own_key_type(key_type) {
            Ok(own) if own.is_comparable(key_type) => self.open_file(Some((own, self)), opening).or(opened),
            _ => opened,
        }
    }

    fn open_file(&self, wanted: Option<(KeyType, &Self)>, opening: &Opening<'_>) -> Result<OpenSide> {
        let wanted = wanted.map(|(wanted, _)| wanted).filter(|_| is_untyped(&self.input) && !self.has_given_keys());
        let input = InputOptions { key_type: self.input.key_type.or(wanted), ..self.input.clone() };
        let (input, scratch) = input.rereadable(opening.interrupt)?;
        if !input.is_rereadable() {
            return self.open_pipe(&input, opening);
        }
        let found = examine(&input, opening.interrupt)?;
        if found.records == 0 && !input.has_columns() {
            return Err(InputError::Empty { path: input.path }.into());
        }
        let is_plain = input.format() == Format::Sosd && input.payload.is_none();
        if is_plain
            && input.spool.is_none()
            && !is_url(&input.path)
            && found.plan.schema.record_type.keys == KeyType::U64
        {
            let (storage, name) = place(&input.path, opening.direct)?;
            if let Some(layout) = sosd_layout(&input.path) {
                let source = JoinSource::records((&storage, &name), layout, !found.plan.sort)?;
                return Ok(OpenSide::of(source, KeyType::U64));
            }
        }
        of_records(&input, &found, scratch, (None, opening.keeps_rows_of(self.side())))
    }

    /// Whether the types of all columns of the key are given by name.
    fn has_given_keys(&self) -> bool {
        !self.input.column_types.is_empty()
            && self.input.schema(TypeSample::Start).is_ok_and(|schema| schema.keys.iter().all(|key| !key.guessed))
    }

    /// Copies a pipe, which can be read only once, to a sorted temporary table.
    fn open_pipe(&self, input: &InputOptions, opening: &Opening<'_>) -> Result<OpenSide> {
        let scratch = ScratchFolder::create()?;
        let storage = scratch.storage();
        let target = Target {
            storage: storage.clone(),
            name: "piped".into(),
            options: JoinOutput::options(),
            memory_bytes: opening.memory_bytes,
            lookups: None,
        };
        load(input, &target, "copying the pipe", opening.interrupt)?;
        let table = Table::open((storage, "piped"), &opening.table_options())?;
        Ok(OpenSide { copy: Some(scratch), ..OpenSide::of(JoinSource::table(&table), table.key_type()) })
    }
}

/// Layout of the records in a SOSD file of 8-byte keys.
fn sosd_layout(path: &Path) -> Option<RecordFile> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    (!name.ends_with(".u32") && !name.ends_with("_uint32")).then(|| RecordFile::sosd(0))
}
