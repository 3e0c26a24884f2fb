//! Folders as inputs: their files one after another, with the columns that any of them has and those that their paths
//! state.

use super::folder::{Folder, path_of};
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
use std::sync::Arc;

impl Folder {
    /// The options of each file.
    pub(super) fn files(&self, options: &InputOptions) -> Vec<InputOptions> {
        self.paths.iter().map(|path| options.of_part(path_of(&options.path, path))).collect()
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
        Ok(self.found.stated_columns(&self.paths, &exists, &known.collect::<Vec<_>>())?)
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
        let file_columns = names.len();
        let mut options = options.clone();
        for (index, (name, key_type)) in stated.columns.iter().enumerate() {
            let is_given = options.column_types.iter().any(|given| given.column.0 == *name);
            let nullable = stated.values.iter().any(|values| values[index].is_none());
            let column = Column(name.clone());
            options.column_types.extend((!is_given).then_some(ColumnType { column, key_type: *key_type, nullable }));
            names.push(name.clone());
        }
        let schema = if self.format == Format::Parquet {
            let schema = super::parquet::folder_schema(&options, &files, &names)?;
            Schema { names, ..schema }
        } else {
            let stated: Vec<_> = self.paths.iter().map(|path| FolderFiles::stated_in(path)).collect();
            let mut rows =
                FolderRows { files: files.clone(), names, of_files, stated, next: 0, current: None, done_bytes: 0 };
            rows.begin()?;
            Schema::of_text(&options, &mut rows, sample)?
        };
        let schema = Schema { file_columns, ..schema };
        if self.format != Format::Jsonl && options.has_columns() {
            self.check_keys(&schema, &files)?;
        }
        Ok(schema)
    }

    /// Refuses a file without a column of the key, such as one without a header, whose rows would be lost.
    fn check_keys(&self, schema: &Schema, files: &[InputOptions]) -> Result<()> {
        for (file, path) in files.iter().zip(&self.paths) {
            let available = names_of(file, TypeSample::Start)?;
            let stated = FolderFiles::stated_in(path);
            let is_absent = |name: &&String| {
                !available.is_empty() && !available.contains(name) && stated.iter().all(|(stated, _)| stated != *name)
            };
            let mut keys = schema.keys.iter().filter_map(|key| schema.names.get(key.position?));
            if let Some(column) = keys.find(is_absent).cloned() {
                return Err(InputError::NoSuchColumn { path: file.path.clone(), column, available }.into());
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

/// The names of the columns of a file.
fn names_of(file: &InputOptions, sample: TypeSample) -> Result<Vec<String>> {
    let names = match file.format() {
        Format::Parquet => super::parquet::names(file)?,
        Format::Jsonl => match file.json_names(sample) {
            Err(Failure::Input(InputError::Empty { .. })) => Vec::new(),
            names => names?,
        },
        Format::Csv | Format::Tsv | Format::Lines => match file.rows(&[]) {
            Err(Failure::Input(InputError::Empty { .. })) => Vec::new(),
            rows => rows?.names().to_vec(),
        },
        Format::Sosd => Vec::new(),
    };
    Ok(file.unique(&names))
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
            match self.begin() {
                Ok(_) => {}
                Err(Failure::Input(error)) => return Err(error),
                Err(failure) => {
                    let path = self.files[self.next].path.clone();
                    return Err(InputError::Malformed { path, detail: failure.to_string() });
                }
            }
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
        while let Some(file) = self.files.get(self.next)
            && self.options.has_columns()
            && self.folder.format != Format::Jsonl
            && names_of(file, TypeSample::Start)?.is_empty()
        {
            self.next += 1;
        }
        let Some(file) = self.files.get(self.next) else { return Ok(false) };
        let schema = if self.options.has_columns() { self.schema_of(file)? } else { self.schema.clone() };
        self.current = Some(file.open(&schema)?);
        self.next += 1;
        Ok(true)
    }

    /// The schema of a file: its columns are where it has them, or what its path states.
    fn schema_of(&self, file: &InputOptions) -> Result<Schema> {
        // Members of objects are found by all names.
        let is_json = self.folder.format == Format::Jsonl;
        let own = if is_json { self.schema.names.clone() } else { names_of(file, TypeSample::Start)? };
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
        Ok(schema)
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
            let begun = match self.begin() {
                Ok(begun) => begun,
                Err(Failure::Input(error)) => return Err(error),
                Err(failure) => {
                    let path = self.files[self.next].path.clone();
                    return Err(InputError::Malformed { path, detail: failure.to_string() });
                }
            };
            if !begun {
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
