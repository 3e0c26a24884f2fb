//! The reader of JSON: each line is an object of scalars, whose members are the fields of a row, by name; or all of the
//! text is one array of such objects.
//!
//! Members may come in any order; those that are missing are null. Numbers and truth values may be of any type that
//! their text fits, strings are not numbers. `{"hex": "ff00"}`, as `ogive export` writes it, stands for bytes that are
//! not text.

use super::InputError;
use super::error::PANDAS_ROWS;
use super::json_layout::Nesting;
use super::lines::LineReader;
use super::rows::TextRows;
use super::schema::TypeSample;
use crate::reading::decoded::DecodedInput;
use crate::values::json_field::JsonField;
use ogive_text::{COLUMNS_MAX, Written};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// Bytes of an array that are read at a time.
const ARRAY_PIECE_BYTES: u64 = 1 << 20;

/// The objects of a file.
#[derive(Debug)]
pub(crate) struct JsonRows {
    objects: JsonObjects,
    fields: JsonFields,
    /// Whether members of unknown names are ignored.
    takes_some: bool,
}

/// The objects of a file as written.
#[derive(Debug)]
struct JsonObjects {
    lines: LineReader,
    limit_bytes: u64,
    is_begun: bool,
    /// `None` if each line is an object.
    array: Option<JsonArray>,
}

/// The fields of one object.
#[derive(Debug, Default)]
struct JsonFields {
    names: Vec<String>,
    places: HashMap<String, usize>,
    fields: Vec<JsonField>,
    /// The names of members that are not known.
    unknown: Vec<String>,
}

impl JsonRows {
    /// The names of the members of the objects in a sample, in the order in which they first appear.
    ///
    /// Objects that cannot be read may be skipped.
    ///
    /// # Errors
    /// [`InputError::Empty`] without any object, and as [`TextRows::advance`].
    pub(crate) fn names(
        file: DecodedInput,
        path: &Path,
        limit_bytes: u64,
        sample: TypeSample,
        skips: bool,
    ) -> Result<Vec<String>, InputError> {
        let mut objects = JsonObjects::new(file, path, limit_bytes)?;
        let mut found = JsonFields::default();
        let mut record = 0;
        while !sample.has_ended(record, objects.lines.position_bytes()) && objects.advance()? {
            record += 1;
            match objects.parse(&mut found) {
                Err(error) if skips && error.is_of_row() => continue,
                parsed => parsed?,
            }
            if !found.unknown.is_empty() {
                std::mem::take(&mut found.unknown).into_iter().for_each(|name| found.add(name));
                // Now a name that appears twice is seen.
                objects.parse(&mut found)?;
            }
            if found.names.len() > COLUMNS_MAX {
                let detail = format!("its objects have more than {COLUMNS_MAX} members of different names");
                return Err(InputError::Malformed { path: path.to_owned(), detail });
            }
        }
        if found.names.is_empty() {
            return Err(InputError::Empty { path: path.to_owned() });
        }
        Ok(found.names)
    }

    /// The rows of an open file, which is at `path`, with members of these names; others are refused, unless only some
    /// are taken.
    pub(crate) fn open(
        file: DecodedInput,
        path: &Path,
        limit_bytes: u64,
        names: &[String],
        takes_some: bool,
    ) -> Result<Self, InputError> {
        let objects = JsonObjects::new(file, path, limit_bytes)?;
        let mut fields = JsonFields::default();
        names.iter().for_each(|name| fields.add(name.clone()));
        Ok(Self { objects, fields, takes_some })
    }
}

impl JsonObjects {
    fn new(file: DecodedInput, path: &Path, limit_bytes: u64) -> Result<Self, InputError> {
        Ok(Self { lines: LineReader::open(file, path)?, limit_bytes, is_begun: false, array: None })
    }

    /// Reads the next object, or line that is not blank; `false` at the end.
    fn advance(&mut self) -> Result<bool, InputError> {
        if !std::mem::replace(&mut self.is_begun, true) && self.lines.first_byte()? == Some(b'[') {
            self.array = Some(JsonArray::default());
        }
        if let Some(array) = &mut self.array {
            return array.advance(&mut self.lines, self.limit_bytes);
        }
        loop {
            let read = self.lines.advance(self.limit_bytes.saturating_add(1))?;
            if read > self.limit_bytes {
                let (path, limit_bytes) = (self.lines.path.clone(), self.limit_bytes);
                return Err(InputError::RowTooLong { path, record: self.lines.lines, limit_bytes });
            }
            if read == 0 || !self.lines.line.trim_ascii().is_empty() {
                return Ok(read > 0);
            }
        }
    }

    /// Takes the members of the object in the line.
    fn parse(&self, fields: &mut JsonFields) -> Result<(), InputError> {
        let (written, which) = match &self.array {
            Some(array) => (&array.object, format!("object {} of its array", array.objects)),
            None => (&self.lines.line, format!("line {}", self.lines.lines)),
        };
        let mut parser = serde_json::Deserializer::from_slice(written);
        let parsed = fields.deserialize(&mut parser).and_then(|()| parser.end());
        parsed.map_err(|error| {
            let message = error.to_string();
            let reason = message.split(" at line ").next().unwrap_or_default();
            let mut detail = format!("{which} is not an object of JSON: {reason} (column {})", error.column());
            if written.trim_ascii_start().starts_with(b"[") {
                detail = format!("{detail}; {PANDAS_ROWS}");
            }
            InputError::BadRow { path: self.lines.path.clone(), detail }
        })
    }
}

impl JsonObjects {
    /// The error of a field that the objects before do not have.
    fn new_field(&self, field: String) -> InputError {
        let line = self.array.as_ref().map_or(self.lines.lines, |array| array.objects);
        InputError::NewField { path: self.lines.path.clone(), line, field }
    }
}

/// An array of objects, which is read piece by piece.
#[derive(Debug, Default)]
struct JsonArray {
    /// The current object as written.
    object: Vec<u8>,
    /// Objects read so far.
    objects: u64,
    /// The place in the current piece.
    at: usize,
    place: ArrayPlace,
}

/// A place in an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ArrayPlace {
    #[default]
    Before,
    First,
    AfterElement,
    AfterComma,
    Behind,
}

impl JsonArray {
    /// Reads the next element; `false` behind the end of the array.
    fn advance(&mut self, lines: &mut LineReader, limit_bytes: u64) -> Result<bool, InputError> {
        self.object.clear();
        let mut element = Nesting::default();
        let mut is_inside = false;
        loop {
            let Some(&byte) = lines.line.get(self.at) else {
                self.at = 0;
                if lines.advance(ARRAY_PIECE_BYTES)? > 0 {
                    continue;
                }
                return match self.place {
                    ArrayPlace::Behind => Ok(false),
                    _ => Err(self.malformed(lines, "its array is cut off")),
                };
            };
            if is_inside {
                if element.ends_before(byte) {
                    return Ok(self.found());
                }
                self.at += 1;
                self.object.push(byte);
                if element.ends_with(byte) {
                    return Ok(self.found());
                }
                if self.object.len() as u64 > limit_bytes {
                    let (path, record) = (lines.path.clone(), self.objects + 1);
                    return Err(InputError::RowTooLong { path, record, limit_bytes });
                }
            } else if byte.is_ascii_whitespace() {
                self.at += 1;
            } else {
                match (self.place, byte) {
                    (ArrayPlace::Before, b'[') => self.place = ArrayPlace::First,
                    (ArrayPlace::First | ArrayPlace::AfterElement, b']') => self.place = ArrayPlace::Behind,
                    (ArrayPlace::AfterElement, b',') => self.place = ArrayPlace::AfterComma,
                    (ArrayPlace::First | ArrayPlace::AfterComma, _) => {
                        is_inside = true;
                        continue;
                    }
                    (ArrayPlace::Behind, _) => return Err(self.malformed(lines, "there is more text behind its array")),
                    _ => return Err(self.malformed(lines, "there is no comma behind it")),
                }
                self.at += 1;
            }
        }
    }

    fn found(&mut self) -> bool {
        self.place = ArrayPlace::AfterElement;
        self.objects += 1;
        true
    }

    fn malformed(&self, lines: &LineReader, detail: &str) -> InputError {
        let detail = format!("{detail} (object {})", self.objects.max(1));
        InputError::Malformed { path: lines.path.clone(), detail }
    }
}

impl JsonFields {
    fn add(&mut self, name: String) {
        if self.places.contains_key(&name) {
            return;
        }
        self.places.insert(name.clone(), self.names.len());
        self.names.push(name);
        self.fields.push(JsonField::Absent);
    }
}

impl TextRows for JsonRows {
    fn names(&self) -> &[String] {
        &self.fields.names
    }

    fn advance(&mut self) -> Result<bool, InputError> {
        if !self.objects.advance()? {
            return Ok(false);
        }
        self.fields.unknown.clear();
        self.objects.parse(&mut self.fields)?;
        match self.fields.unknown.pop() {
            Some(field) if !self.takes_some => Err(self.objects.new_field(field)),
            _ => Ok(true),
        }
    }

    fn line(&self) -> u64 {
        self.objects.lines.lines
    }

    fn write_row(&self, row: &mut Vec<u8>) {
        let written = self.objects.array.as_ref().map_or(&self.objects.lines.line, |array| &array.object);
        row.extend_from_slice(written.trim_ascii());
    }

    fn field(&self, column: usize) -> Written<'_> {
        self.fields.fields.get(column).map_or(Written::Null, JsonField::written)
    }

    fn position_bytes(&self) -> u64 {
        self.objects.lines.position_bytes()
    }

    fn length_bytes(&self) -> Option<u64> {
        self.objects.lines.length_bytes
    }
}

impl<'de> DeserializeSeed<'de> for &mut JsonFields {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.fields.fill(JsonField::Absent);
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut JsonFields {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key_seed(Name(&self.places))? {
            let value: &RawValue = members.next_value()?;
            match name {
                Ok(place) if self.fields[place] != JsonField::Absent => {
                    return Err(A::Error::custom(format!("the field '{}' appears twice", self.names[place])));
                }
                Ok(place) => self.fields[place] = JsonField::of(value.get()).map_err(A::Error::custom)?,
                Err(name) => self.unknown.push(name),
            }
        }
        Ok(())
    }
}

/// Finds the place of a name, or gives the name.
struct Name<'a>(&'a HashMap<String, usize>);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Result<usize, String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Result<usize, String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.get(name).copied().ok_or_else(|| name.to_owned()))
    }
}
