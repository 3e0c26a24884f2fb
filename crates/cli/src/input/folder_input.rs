//! Folders as inputs: their files one after another, with the columns that any of them has and those that their paths
//! state.

use super::folder::{Folder, of_input, path_of};
use super::format::Format;
use super::known::ColumnType;
use super::record::{Input, InputFacts, Record};
use super::rows::TextRows;
use super::schema::{ReadColumn, Schema, TypeSample};
use super::{Column, InputError, InputOptions};
use crate::failure::{Failure, Result};
use ogive_parquet::{FolderFiles, StatedColumns};
use ogive_text::Written;
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

impl Folder {
    /// The options of each file.
    pub(super) fn files(&self, options: &InputOptions) -> Vec<InputOptions> {
        let parts = self.paths.iter().zip(&self.finds);
        parts.map(|(path, finds)| options.of_part(path_of(&options.path, path), Arc::clone(finds))).collect()
    }

    /// The names of the columns of each file.
    ///
    /// # Errors
    /// Those of the files.
    fn file_names(files: &[InputOptions], sample: TypeSample) -> Result<Vec<Vec<String>>> {
        files.iter().map(|file| names_of(file, sample)).collect()
    }

    /// The columns that the paths state and the files do not have.
    fn stated(&self, options: &InputOptions, names: &[String]) -> Result<StatedColumns> {
        if !options.has_columns() {
            return Ok(StatedColumns::default());
        }
        let known = options.column_types.iter().map(|given| (given.column.0.clone(), given.key_type));
        let exists = |name: &str| names.iter().any(|known| known == name);
        let stated = self.found.stated_columns(&self.paths, &exists, &known.collect::<Vec<_>>());
        stated.map_err(of_input)
    }

    /// The names of all columns.
    ///
    /// # Errors
    /// Those of the files.
    pub(super) fn names(&self, options: &InputOptions) -> Result<Vec<String>> {
        let mut names = united(&Self::file_names(&self.files(options), TypeSample::Start)?);
        let stated = self.stated(options, &names)?;
        names.extend(stated.columns.into_iter().map(|(name, _)| name));
        Ok(names)
    }

    /// The columns to read, with their types.
    ///
    /// # Errors
    /// As [`InputOptions::schema`].
    pub(super) fn schema(&self, options: &InputOptions, sample: TypeSample) -> Result<Schema> {
        let files = self.files(options);
        if self.format == Format::Sosd {
            return files[0].schema(sample);
        }
        let of_files = Self::file_names(&files, sample)?;
        let mut names = united(&of_files);
        let stated = self.stated(options, &names)?;
        if options.has_columns() {
            self.tell_above(&options.path, &names);
        }
        let file_columns = names.len();
        let mut options = options.clone();
        for (index, (name, key_type)) in stated.columns.iter().enumerate() {
            let is_given = options.column_types.iter().any(|given| given.column.0 == *name);
            let nullable = stated.values.iter().any(|values| values[index].is_none());
            let column = Column(name.clone());
            options.column_types.extend((!is_given).then_some(ColumnType { column, key_type: *key_type, nullable }));
            names.push(name.clone());
        }
        let (schema, of_files) = if self.format == Format::Parquet {
            let schema = super::parquet::folder_schema(&options, &files, &names)?;
            (Schema { names, ..schema }, of_files)
        } else {
            let stated: Vec<_> = self.paths.iter().map(|path| FolderFiles::stated_in(path)).collect();
            let mut rows =
                FolderRows { files: files.clone(), names, of_files, stated, next: 0, current: None, done_bytes: 0 };
            rows.begin()?;
            (Schema::of_text(&options, &mut rows, sample)?, rows.of_files)
        };
        let schema = Schema { file_columns, ..schema };
        if self.format != Format::Jsonl && options.has_columns() {
            self.check_keys(&schema, &files, &of_files)?;
        }
        Ok(schema)
    }

    /// Refuses a file without a column of the key, such as one without a header, whose rows would be lost.
    fn check_keys(&self, schema: &Schema, files: &[InputOptions], of_files: &[Vec<String>]) -> Result<()> {
        for ((file, path), available) in files.iter().zip(&self.paths).zip(of_files) {
            let stated = FolderFiles::stated_in(path);
            let is_absent = |name: &&String| {
                !available.is_empty() && !available.contains(name) && stated.iter().all(|(stated, _)| stated != *name)
            };
            let mut keys = schema.keys.iter().filter_map(|key| schema.names.get(key.position?));
            if let Some(column) = keys.find(is_absent).cloned() {
                let (path, available) = (file.path.clone(), available.clone());
                return Err(InputError::NoSuchColumn { path, column, available }.into());
            }
        }
        Ok(())
    }
}

/// All names, each once, in the order in which they come.
fn united(of_files: &[Vec<String>]) -> Vec<String> {
    let mut known = HashSet::new();
    of_files.iter().flatten().filter(|name| known.insert(name.as_str())).cloned().collect()
}

/// The names of the columns of a file, which are kept: only those of JSON hang on the sample.
fn names_of(file: &InputOptions, sample: TypeSample) -> Result<Vec<String>> {
    if let Some(names) = file.finds.names.get() {
        return Ok(names.clone());
    }
    let names = match file.format() {
        Format::Parquet => super::parquet::names(file)?,
        Format::Jsonl => match file.refuse_layout().and_then(|()| file.json_names(sample)) {
            Err(Failure::Input(InputError::Empty { .. })) => return Ok(Vec::new()),
            names => return Ok(file.unique(&names?)),
        },
        Format::Csv | Format::Tsv | Format::Lines => match file.rows(&[]) {
            Err(Failure::Input(InputError::Empty { .. })) => Vec::new(),
            rows => rows?.names().to_vec(),
        },
        Format::Sosd => Vec::new(),
    };
    Ok(file.finds.names.get_or_init(|| file.unique(&names)).clone())
}

/// The failure to open a file of a folder, as an error of the input.
fn unopened(file: Option<&InputOptions>, failure: Failure) -> InputError {
    let path = file.map_or_else(PathBuf::new, |file| file.path.clone());
    match failure {
        Failure::Input(error) => error,
        Failure::Engine(error) => InputError::Io { path, source: io::Error::other(error) },
        failure => InputError::Malformed { path, detail: failure.to_string() },
    }
}

/// The rows of the text files of a folder, for their types.
#[derive(Debug)]
struct FolderRows {
    files: Vec<InputOptions>,
    names: Vec<String>,
    /// The names of each file.
    of_files: Vec<Vec<String>>,
    /// What the path of each file states.
    stated: Vec<Vec<(String, Option<String>)>>,
    next: usize,
    current: Option<FileRows>,
    done_bytes: u64,
}

/// The rows of one file, and where it has each column.
#[derive(Debug)]
struct FileRows {
    rows: Box<dyn TextRows>,
    places: Vec<Place>,
}

/// Where the fields of a column are.
#[derive(Clone, Debug)]
enum Place {
    Absent,
    At(usize),
    Stated(String),
}

impl FolderRows {
    /// Opens the next file; whether there is one.
    fn begin(&mut self) -> Result<bool> {
        self.done_bytes += self.current.take().map_or(0, |current| current.rows.position_bytes());
        let rows = loop {
            let Some(file) = self.files.get(self.next) else { return Ok(false) };
            match file.rows(&self.names) {
                Err(Failure::Input(InputError::Empty { .. })) => self.next += 1,
                rows => break rows?,
            }
        };
        let file = &self.files[self.next];
        let own = file.unique(rows.names());
        let stated = self.stated.get(self.next).map_or(&[][..], Vec::as_slice);
        let place = |name: &String| match own.iter().position(|own| own == name) {
            Some(at) => Place::At(at),
            None => match stated.iter().find(|(stated, _)| stated == name) {
                Some((_, Some(text))) => Place::Stated(text.clone()),
                _ => Place::Absent,
            },
        };
        self.current = Some(FileRows { places: self.names.iter().map(place).collect(), rows });
        self.next += 1;
        Ok(true)
    }
}

impl TextRows for FolderRows {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn advance(&mut self) -> Result<bool, InputError> {
        loop {
            let Some(current) = &mut self.current else { return Ok(false) };
            if current.rows.advance()? {
                return Ok(true);
            }
            let begun = self.begin();
            begun.map_err(|failure| unopened(self.files.get(self.next), failure))?;
        }
    }

    fn is_blank(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.rows.is_blank())
    }

    fn line(&self) -> u64 {
        self.current.as_ref().map_or(0, |current| current.rows.line())
    }

    fn write_row(&self, row: &mut Vec<u8>) {
        if let Some(current) = &self.current {
            current.rows.write_row(row);
        }
    }

    fn remarks(&self) -> Vec<String> {
        self.current.as_ref().map_or_else(Vec::new, |current| current.rows.remarks())
    }

    fn field(&self, column: usize) -> Written<'_> {
        let Some(current) = &self.current else { return Written::Null };
        match current.places.get(column) {
            Some(Place::At(place)) => current.rows.field(*place),
            Some(Place::Stated(text)) => Written::Text(text.as_bytes()),
            Some(Place::Absent) | None => Written::Null,
        }
    }

    fn may_lack(&self, column: usize) -> bool {
        let Some(name) = self.names.get(column) else { return false };
        let mut files = self.of_files.iter().zip(&self.stated);
        files.any(|(own, stated)| !own.contains(name) && stated.iter().all(|(stated, _)| stated != name))
    }

    fn position_bytes(&self) -> u64 {
        self.done_bytes + self.current.as_ref().map_or(0, |current| current.rows.position_bytes())
    }

    fn length_bytes(&self) -> Option<u64> {
        None
    }
}

/// The records of the files of a folder.
#[derive(Debug)]
pub(super) struct FolderInput {
    folder: Arc<Folder>,
    options: InputOptions,
    files: Vec<InputOptions>,
    schema: Schema,
    facts: InputFacts,
    next: usize,
    current: Option<Box<dyn Input + Send>>,
    done_bytes: u64,
    /// Records of the files before that were left out because their keys have nulls.
    null_keys: u64,
    /// Records that were read.
    good: u64,
    /// The record that was read last: the files lend theirs, but one that has ended is replaced.
    record: (Vec<u8>, Vec<u8>),
}

impl FolderInput {
    /// The records of a folder, by a schema of it.
    pub(super) fn new(folder: Arc<Folder>, options: &InputOptions, schema: &Schema) -> Self {
        let files = folder.files(options);
        let length = |file: &InputOptions| std::fs::metadata(&file.path).ok().map(|metadata| metadata.len());
        let facts = InputFacts {
            path: options.path.clone(),
            record_type: schema.record_type.clone(),
            value_width: schema.value_width(),
            records: None,
            length_bytes: files.iter().map(length).sum(),
            may_be_empty: true,
        };
        let (options, schema) = (options.clone(), schema.clone());
        let record = <(Vec<u8>, Vec<u8>)>::default();
        Self {
            folder,
            options,
            files,
            schema,
            facts,
            next: 0,
            current: None,
            done_bytes: 0,
            null_keys: 0,
            good: 0,
            record,
        }
    }

    /// Opens the next file; whether there is one.
    fn begin(&mut self) -> Result<bool> {
        let has_columns = self.options.has_columns();
        // Members of objects are found by all names.
        let has_own = has_columns && self.folder.format != Format::Jsonl;
        let (file, own) = loop {
            let Some(file) = self.files.get(self.next) else { return Ok(false) };
            let own = if has_own { names_of(file, TypeSample::Start)? } else { self.schema.names.clone() };
            // A file without a row has no names.
            if !has_own || !own.is_empty() {
                break (file, own);
            }
            self.next += 1;
        };
        let schema = if has_columns { self.schema_of(&own) } else { self.schema.clone() };
        self.current = Some(file.open(&schema)?);
        self.next += 1;
        Ok(true)
    }

    /// The schema of the next file, whose columns have these names: they are where it has them, or as its path states.
    fn schema_of(&self, own: &[String]) -> Schema {
        let stated = FolderFiles::stated_in(&self.folder.paths[self.next]);
        let mut schema = self.schema.clone();
        let place = |column: &mut ReadColumn| {
            let Some(position) = column.position else { return };
            let Some(name) = self.schema.names.get(position) else { return };
            let is_of_files = position < self.schema.file_columns;
            column.position = is_of_files.then(|| own.iter().position(|own| own == name)).flatten();
            let text = stated.iter().find(|(stated, _)| stated == name).and_then(|(_, text)| text.as_deref());
            column.stated = text.map(Arc::from);
        };
        schema.keys.iter_mut().chain(&mut schema.values).for_each(place);
        schema
    }
}

impl Input for FolderInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some(record) = current.next()? {
                    self.good += 1;
                    let (key, value) = &mut self.record;
                    key.clear();
                    key.extend_from_slice(record.key);
                    value.clear();
                    value.extend_from_slice(record.value);
                    return Ok(Some(Record { key: &self.record.0, value: &self.record.1 }));
                }
                self.done_bytes += current.position_bytes();
                self.null_keys += current.null_keys();
                self.current = None;
            }
            let begun = self.begin();
            if !begun.map_err(|failure| unopened(self.files.get(self.next), failure))? {
                let bad_rows = self.options.skip_bad_rows.as_ref();
                bad_rows.map_or(Ok(()), |bad_rows| bad_rows.finish(&self.facts.path, self.good))?;
                return Ok(None);
            }
        }
    }

    fn position_bytes(&self) -> u64 {
        self.done_bytes + self.current.as_ref().map_or(0, |current| current.position_bytes())
    }

    fn null_keys(&self) -> u64 {
        self.null_keys + self.current.as_ref().map_or(0, |current| current.null_keys())
    }
}
