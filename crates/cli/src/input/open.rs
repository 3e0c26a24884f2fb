//! The choice of a reader for an input, by its format.

use super::InputError;
use super::columns::{self, Column};
use super::csv::CsvRows;
#[cfg(feature = "parquet")]
use super::folder_input::FolderInput;
use super::format::Format;
use super::json::JsonRows;
use super::lines::LineRows;
use super::names::sosd_key_bytes;
use super::options::InputOptions;
use super::payload::WithPayload;
use super::record::{Input, InputFacts};
use super::rows::{TextInput, TextRows};
use super::schema::{Schema, TypeSample};
use super::sosd::SosdInput;
#[cfg(not(feature = "parquet"))]
use crate::failure::Failure;
use crate::failure::Result;
use crate::reading::sample::sample;
use ogive::KeyType;
use ogive::tune::TableSample;
use ogive::types::ValueType;
use ogive_text::{FieldForm, Layout, Separated};

/// The columns of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputColumns {
    /// It says which ones have the keys, or has nothing but keys, without names.
    Keys(Vec<String>),
    /// This number, without names.
    Unnamed(usize),
    /// These.
    Named(Vec<String>),
}

impl InputOptions {
    /// The columns of the input.
    ///
    /// # Errors
    /// As [`Self::schema`].
    pub(crate) fn column_names(&self) -> Result<InputColumns> {
        #[cfg(feature = "parquet")]
        if let Some(folder) = self.folder()? {
            self.check()?;
            let names = folder.names(self)?;
            return Ok(match folder.format {
                Format::Sosd | Format::Lines => InputColumns::Keys(Vec::new()),
                Format::Csv | Format::Tsv if !self.has_header() => InputColumns::Unnamed(names.len()),
                _ => InputColumns::Named(names),
            });
        }
        self.refuse_foreign()?;
        self.check()?;
        Ok(match self.format() {
            Format::Sosd | Format::Lines => InputColumns::Keys(Vec::new()),
            Format::Csv | Format::Tsv | Format::Jsonl => {
                let names =
                    if self.format() == Format::Jsonl { self.json_names(TypeSample::Start)? } else { Vec::new() };
                let rows = self.rows(&names)?;
                let is_named = self.format() == Format::Jsonl || self.has_header();
                match is_named {
                    true => InputColumns::Named(self.unique(rows.names())),
                    false => InputColumns::Unnamed(rows.names().len()),
                }
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => super::parquet::column_names(self)?,
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(no_parquet()),
        })
    }

    /// What the folder has, and the names of its columns, if it is a folder of files that can be read as one input.
    ///
    /// # Errors
    /// As [`Self::schema`].
    #[cfg(feature = "parquet")]
    pub(crate) fn described_folder(&self) -> Result<Option<(String, Vec<String>)>> {
        let Some(folder) = self.folder()? else { return Ok(None) };
        let names = if self.has_columns() { folder.names(self)? } else { Vec::new() };
        Ok(Some((folder.described(), names)))
    }

    /// The columns to read, with their types: as given, else guessed from the records of a sample, or from all of them
    /// with `--scan-all`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that do not apply to this format; [`InputError`] for a bad file.
    pub(crate) fn schema(&self, sample: TypeSample) -> Result<Schema> {
        let sample = if self.scan_all { TypeSample::Whole } else { sample };
        #[cfg(feature = "parquet")]
        if let Some(folder) = self.folder()? {
            self.check()?;
            self.refuse_bad_rows_inside()?;
            folder.tell(&self.path, &self.flag("format"));
            return folder.schema(self, sample);
        }
        self.refuse_foreign()?;
        self.check()?;
        match self.format() {
            Format::Sosd => self.check_no_values().map(|()| Schema::of_keys(KeyType::U64)),
            Format::Lines | Format::Csv | Format::Tsv | Format::Jsonl => {
                let names = if self.format() == Format::Jsonl { self.json_names(sample)? } else { Vec::new() };
                Schema::of_text(self, &mut *self.rows(&names)?, sample)
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => super::parquet::schema(self),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => Err(no_parquet()),
        }
    }

    /// Opens the input.
    ///
    /// # Errors
    /// As [`Self::schema`].
    pub(crate) fn open(&self, schema: &Schema) -> Result<Box<dyn Input + Send>> {
        if let Some(bad_rows) = self.skip_bad_rows.as_ref().filter(|_| !self.finds.is_part) {
            bad_rows.restart();
        }
        let input: Box<dyn Input + Send> = match self.format() {
            #[cfg(feature = "parquet")]
            _ if let Some(folder) = self.folder()? => Box::new(FolderInput::new(folder, self, schema)),
            Format::Sosd => Box::new(self.open_sosd()?),
            Format::Lines | Format::Csv | Format::Tsv | Format::Jsonl => {
                let rows = self.rows(&schema.names)?;
                if let Some(pipe) = &self.pipe {
                    pipe.keep_no_more();
                }
                Box::new(TextInput::new(&self.path, rows, schema, (self.skip_bad_rows.clone(), self.finds.is_part)))
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => Box::new(super::parquet::ParquetInput::open(self.source(), &self.path, schema)?),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(no_parquet()),
        };
        Ok(match self.payload {
            Some(width_bytes) => Box::new(WithPayload::new(input, width_bytes)),
            None => input,
        })
    }

    /// Whether rows of text can have the values of this schema without a look at them.
    pub(crate) fn can_print(&self, schema: &Schema) -> bool {
        let has_fields = matches!(self.format(), Format::Csv | Format::Tsv | Format::Jsonl);
        has_fields
            && !self.is_folder()
            && self.payload.is_none()
            && matches!(&schema.record_type.values, ValueType::Row(_))
    }

    /// As [`Self::open`], with values that are the rest of a row of text in this form, as the values would be printed.
    ///
    /// # Errors
    /// As [`Self::schema`].
    pub(crate) fn open_printed(&self, schema: &Schema, form: Separated) -> Result<Box<dyn Input + Send>> {
        let rows = self.rows(&schema.names)?;
        Ok(Box::new(TextInput::new(&self.path, rows, schema, (self.skip_bad_rows.clone(), false)).printed(form)))
    }

    /// The names of the fields of the first objects, or of all of them, if a column that is asked for is not there. A
    /// file without objects has the columns of known records, and those that are asked for.
    pub(super) fn json_names(&self, sample: TypeSample) -> Result<Vec<String>> {
        let among =
            |sample| JsonRows::names(self.file()?, &self.path, self.row_limit.0, sample, self.skip_bad_rows.is_some());
        let names = match among(sample) {
            Err(InputError::Empty { .. })
                if self.known.is_some() || !self.key.is_empty() && (self.keys_only || !self.value.is_empty()) =>
            {
                let mut names = self.known.as_ref().map_or_else(Vec::new, |known| known.names().to_vec());
                for Column(name) in self.key.iter().chain(&self.value) {
                    names.extend((!names.contains(name)).then(|| name.clone()));
                }
                return Ok(names);
            }
            names => names?,
        };
        let asked = self.key.iter().chain(&self.value).chain(self.column_types.iter().map(|given| &given.column));
        let is_there = |column: &Column| columns::find(&self.path, &names, column).is_ok();
        let is_enough = sample == TypeSample::Whole || asked.into_iter().all(is_there);
        // Of a pipe, no more than the sample is kept.
        if is_enough || self.pipe.is_some() { Ok(names) } else { Ok(among(TypeSample::Whole)?) }
    }

    /// The rows of a text input; those of JSON have fields of these names.
    pub(super) fn rows(&self, names: &[String]) -> Result<Box<dyn TextRows>> {
        let form = match self.format() {
            Format::Lines => return Ok(Box::new(LineRows::open(self.file()?, &self.path)?)),
            Format::Jsonl => {
                let takes_some = self.keys_only || self.payload.is_some() || !self.value.is_empty();
                let rows = JsonRows::open(self.file()?, &self.path, self.row_limit.0, names, takes_some)?;
                return Ok(Box::new(rows));
            }
            Format::Tsv => Separated::tsv(self.quote),
            _ if self.is_hive() => Separated { fields: FieldForm::Plain, ..Separated::CSV },
            _ => Separated::CSV,
        };
        let delimiter = self.delimiter.or(self.recognised().delimiter).unwrap_or(form.delimiter);
        let layout = Layout {
            form: Separated { delimiter, ..form },
            is_lenient: self.lenient,
            has_header: self.has_header(),
            record_limit_bytes: self.row_limit.0,
            null: self.null_text(),
            takes_stated_delimiter: self.delimiter.is_none(),
        };
        Ok(Box::new(CsvRows::open(self.file()?, &self.path, layout)?))
    }

    /// A sample of the keys, if available without reading the whole file.
    pub(crate) fn quick_sample(&self) -> Result<Option<TableSample>> {
        if self.format() != Format::Sosd || self.is_fetched() || self.is_folder() {
            return Ok(None);
        }
        let mut input = self.open_sosd()?;
        let records = input.facts().records.unwrap_or(0);
        let runs = input.runs()?;
        let width = self.payload.unwrap_or(0);
        let varied = InputFacts { value_width: Some(width), ..input.facts().clone() }.dense_value_width().is_none();
        Ok(Some(sample(runs, records, f64::from(width), varied)))
    }

    fn open_sosd(&self) -> Result<SosdInput> {
        Ok(SosdInput::open(self.source(), &self.path, sosd_key_bytes(&self.path).unwrap_or(8))?)
    }
}

#[cfg(not(feature = "parquet"))]
fn no_parquet() -> Failure {
    Failure::usage(
        "this ogive was built without Parquet",
        "install it with `cargo install --path crates/cli --features parquet`, or convert the file to CSV",
    )
}
