//! Tuples: keys of several components, each ascending or descending, with or without nulls.

use super::key_type::{KeyType, unknown};
use super::record::{self, RecordField};
use super::value::Value;
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::fmt;

/// Most components of a tuple.
pub(crate) const COMPONENTS_MAX: usize = 16;

/// Bits of the code of a component's type, below its flags.
const TYPE_BITS: u16 = 0x1fff;
const DESCENDING: u16 = 0x2000;
const NULLABLE: u16 = 0x4000;
const NULLS_LAST: u16 = 0x8000;

/// Markers in front of components that may be null.
const NULL_FIRST: u8 = 0;
const PRESENT: u8 = 1;
const NULL_LAST: u8 = 2;

/// A zero byte within a component of variable length is followed by `ESCAPED`, the end of the component by `END`.
const ESCAPED: u8 = 0xff;
const END: u8 = 0;

/// Whether a component may be null, and where nulls order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NullOrder {
    /// It is never null.
    #[default]
    Never,
    /// Nulls come before all values, in either direction.
    First,
    /// Nulls come after all values, in either direction.
    Last,
}

/// A component of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its type; not a tuple.
    pub key_type: KeyType,
    /// Whether greater values come first.
    pub descending: bool,
    /// Whether it may be null.
    pub nulls: NullOrder,
}

impl Component {
    /// An ascending component that is never null.
    #[must_use]
    pub fn new(key_type: KeyType) -> Self {
        Self { key_type, descending: false, nulls: NullOrder::Never }
    }

    /// The code in files: that of the type, and flags.
    pub(crate) fn code(self) -> u16 {
        let nulls = match self.nulls {
            NullOrder::Never => 0,
            NullOrder::First => NULLABLE,
            NullOrder::Last => NULLABLE | NULLS_LAST,
        };
        self.key_type.code() | nulls | if self.descending { DESCENDING } else { 0 }
    }

    /// The component of a code; `None` for an invalid one.
    pub(crate) fn from_code(code: u16) -> Option<Self> {
        let nulls = match (code & NULLABLE != 0, code & NULLS_LAST != 0) {
            (false, false) => NullOrder::Never,
            (true, false) => NullOrder::First,
            (true, true) => NullOrder::Last,
            (false, true) => return None,
        };
        Some(Self { key_type: KeyType::from_code(code & TYPE_BITS)?, descending: code & DESCENDING != 0, nulls })
    }

    fn width(self) -> Option<usize> {
        Some(self.key_type.width()? + usize::from(self.nulls != NullOrder::Never))
    }

    fn null_marker(self) -> Option<u8> {
        match self.nulls {
            NullOrder::Never => None,
            NullOrder::First => Some(NULL_FIRST),
            NullOrder::Last => Some(NULL_LAST),
        }
    }

    /// What follows a value of the component, which is not null, at the start of `key`; `None` if there is none.
    fn behind(self, key: &[u8]) -> Option<&[u8]> {
        if let Some(width) = self.key_type.width() {
            return key.get(width..);
        }
        // A zero byte within the value is followed by `ESCAPED`.
        let flip = if self.descending { 0xff } else { 0 };
        let end = key.windows(2).position(|pair| pair == [flip, END ^ flip])?;
        key.get(end + 2..)
    }

    fn append(self, value: &Value, key: &mut Vec<u8>) -> Result<()> {
        if let (Some(marker), Value::Null) = (self.null_marker(), value) {
            key.push(marker);
            key.resize(key.len() + self.key_type.width().unwrap_or(0), 0);
            return Ok(());
        }
        if self.nulls != NullOrder::Never {
            key.push(PRESENT);
        }
        let at = key.len();
        self.key_type.append_scalar(value, key)?;
        if self.key_type.width().is_none() {
            let plain = key.split_off(at);
            for byte in plain {
                key.push(byte);
                if byte == 0 {
                    key.push(ESCAPED);
                }
            }
            key.extend_from_slice(&[0, END]);
        }
        if self.descending {
            key[at..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(())
    }

    /// The bytes of the component at the start of `key`, which is advanced, as those of a key of its type, and `None`
    /// for a null; outside, `None` if there is no component.
    #[inline]
    fn take<'k>(self, key: &mut &'k [u8]) -> Option<Option<Cow<'k, [u8]>>> {
        if let Some(marker) = self.null_marker() {
            let found = take(key, 1)?[0];
            if found == marker {
                let zeros = take(key, self.key_type.width().unwrap_or(0))?;
                return zeros.iter().all(|&byte| byte == 0).then_some(None);
            }
            if found != PRESENT {
                return None;
            }
        }
        let bytes = match self.key_type.width() {
            Some(width) => Cow::Borrowed(take(key, width)?),
            None => return self.take_escaped(key).map(Some),
        };
        Some(Some(if self.descending { bytes.iter().map(|byte| !byte).collect() } else { bytes }))
    }

    /// The bytes of a component of variable width.
    fn take_escaped<'k>(self, key: &mut &'k [u8]) -> Option<Cow<'k, [u8]>> {
        let flip = if self.descending { 0xff } else { 0 };
        let first = key.iter().position(|&byte| byte == flip)?;
        if !self.descending && key.get(first + 1) == Some(&END) {
            let plain = take(key, first)?;
            *key = &key[2..];
            return Some(Cow::Borrowed(plain));
        }
        let mut bytes = Vec::new();
        loop {
            match take(key, 1)?[0] ^ flip {
                0 => match take(key, 1)?[0] ^ flip {
                    END => return Some(Cow::Owned(bytes)),
                    ESCAPED => bytes.push(0),
                    _ => return None,
                },
                byte => bytes.push(byte),
            }
        }
    }

    /// The value at the start of `key`, which is advanced; `None` if there is none.
    fn take_value(self, key: &mut &[u8]) -> Option<Value> {
        match self.take(key)? {
            Some(bytes) => self.key_type.decode_scalar(&bytes),
            None => Some(Value::Null),
        }
    }
}

fn take<'a>(key: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = key.split_at_checked(count)?;
    *key = rest;
    Some(taken)
}

/// The components of a tuple, at most 16. Shown and parsed as
/// `(text, date desc, f64? asc nulls first)`: a question mark allows nulls, which come last if ascending and first if
/// descending unless `nulls first` or `nulls last` says otherwise, as in SQL.
///
/// Keys of a tuple are the bytes of its components, so that keys with the same first components share a prefix. A
/// component that may be null has a byte in front. Text and bytes end with two bytes, and each zero in them takes two.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TupleType {
    /// Codes, zero beyond `count`.
    codes: [u16; COMPONENTS_MAX],
    count: u8,
}

impl TupleType {
    /// A tuple of these components.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for none or too many components, and for tuples in tuples.
    pub fn new(components: &[Component]) -> Result<Self> {
        if components.is_empty() || components.len() > COMPONENTS_MAX {
            let count = components.len();
            return Err(Error::input(format!("tuples have 1 to {COMPONENTS_MAX} components, not {count}")));
        }
        let mut codes = [0; COMPONENTS_MAX];
        for (code, component) in codes.iter_mut().zip(components) {
            if matches!(component.key_type, KeyType::Tuple(_)) {
                return Err(Error::input("a component of a tuple cannot be a tuple"));
            }
            component.key_type.check()?;
            *code = component.code();
        }
        Ok(Self { codes, count: components.len() as u8 })
    }

    /// The components in order.
    pub fn components(&self) -> impl ExactSizeIterator<Item = Component> + '_ {
        // Codes were checked when the tuple was made.
        let component = |&code| Component::from_code(code).unwrap_or_else(|| Component::new(KeyType::Bytes));
        self.codes[..usize::from(self.count)].iter().map(component)
    }

    /// Passes the components of a key on in order: the number of each, and the bytes of a key of its type, or `None`
    /// for a null. Nothing is copied but descending components, and those with zeros within.
    ///
    /// ```
    /// use ogive::KeyType;
    ///
    /// let keys: KeyType = "(text, u16?)".parse()?;
    /// let key = keys.parse("fig,7")?;
    /// let KeyType::Tuple(tuple) = keys else { unreachable!() };
    /// let mut parts = Vec::new();
    /// tuple.visit_components(&key, |_, bytes| Ok(parts.push(bytes.map(<[u8]>::to_vec))))?;
    /// assert_eq!(parts, [Some(b"fig".to_vec()), Some(vec![0, 7])]);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Cause::Input` for bytes that are not those of components; the bytes of a component may still be no
    /// value of its type. Errors of `visit`.
    pub fn visit_components(
        &self,
        mut key: &[u8],
        mut visit: impl FnMut(usize, Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        let bytes = key.len();
        let wrong = || Error::input(format!("a key of {bytes} bytes is not of type {self}"));
        for (number, component) in self.components().enumerate() {
            visit(number, component.take(&mut key).ok_or_else(wrong)?.as_deref())?;
        }
        if key.is_empty() { Ok(()) } else { Err(wrong()) }
    }

    /// What follows the components at the start of `bytes`; `None` if it does not begin with them.
    pub(super) fn behind<'k>(&self, mut bytes: &'k [u8]) -> Option<&'k [u8]> {
        for component in self.components() {
            component.take(&mut bytes)?;
        }
        Some(bytes)
    }

    /// The test for nulls in keys; `None` if no component may be null.
    pub(crate) fn null_test(&self) -> Option<NullTest> {
        let mut components: Vec<Component> = self.components().collect();
        let last = components.iter().rposition(|component| component.nulls != NullOrder::Never)?;
        components.truncate(last + 1);
        Some(NullTest { components })
    }

    /// The tuple of the same components, all of which may be null: where that was not so, nulls come where they come
    /// unless it is stated.
    pub(super) fn with_nulls(self) -> Result<Self> {
        let with_nulls = |component: Component| Component {
            nulls: match (component.nulls, component.descending) {
                (NullOrder::Never, false) => NullOrder::Last,
                (NullOrder::Never, true) => NullOrder::First,
                (stated, _) => stated,
            },
            ..component
        };
        Self::new(&self.components().map(with_nulls).collect::<Vec<_>>())
    }

    pub(super) fn width(self) -> Option<usize> {
        self.components().map(Component::width).sum()
    }

    pub(super) fn append(self, value: &Value, key: &mut Vec<u8>) -> Result<()> {
        match value {
            Value::Tuple(values) if values.len() == usize::from(self.count) => self.append_prefix(values, key),
            _ => Err(Error::input(format!("{value:?} is not a tuple of type {self}"))),
        }
    }

    pub(super) fn append_prefix(self, values: &[Value], key: &mut Vec<u8>) -> Result<()> {
        if values.len() > usize::from(self.count) {
            let count = values.len();
            return Err(Error::input(format!("keys of type {self} do not have {count} components")));
        }
        self.components().zip(values).try_for_each(|(component, value)| component.append(value, key))
    }

    pub(super) fn decode(self, mut key: &[u8]) -> Option<Value> {
        let values = self.components().map(|component| component.take_value(&mut key)).collect::<Option<_>>()?;
        key.is_empty().then_some(Value::Tuple(values))
    }

    /// The values of the first components, which are all of `bytes`; `None` for other bytes.
    pub(crate) fn decode_first(&self, mut bytes: &[u8]) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        for component in self.components() {
            if bytes.is_empty() {
                break;
            }
            values.push(component.take_value(&mut bytes)?);
        }
        bytes.is_empty().then_some(values)
    }

    /// Reads the components from a record of CSV.
    pub(super) fn parse_value(self, text: &str) -> Option<Value> {
        let values = self.parse_prefix(text)?;
        (values.len() == usize::from(self.count)).then_some(Value::Tuple(values))
    }

    /// Whether the first component may be null.
    pub(super) fn begins_nullable(self) -> bool {
        self.components().next().is_some_and(|first| first.nulls != NullOrder::Never)
    }

    /// The bytes that keys begin with whose first components are these; with a single component of text or bytes, whose
    /// component begins with this one: such a type is that of a column with nulls.
    pub(super) fn prefix_of_text(self, values: &[Value]) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        self.append_prefix(values, &mut key).ok()?;
        let only = self.components().next().filter(|only| self.count == 1 && only.key_type.width().is_none());
        if only.is_some() && values.first().is_some_and(|value| !matches!(value, Value::Null)) {
            // Without its end.
            key.truncate(key.len().saturating_sub(2));
        }
        Some(key)
    }

    /// Reads the first components from a record of CSV.
    pub(super) fn parse_prefix(self, text: &str) -> Option<Vec<Value>> {
        let fields = record::split(text)?;
        if fields.len() > usize::from(self.count) {
            return None;
        }
        let parse = |(component, field): (Component, RecordField)| match field {
            RecordField::Empty if component.nulls != NullOrder::Never => Some(Value::Null),
            RecordField::Empty => component.key_type.parse_key(""),
            RecordField::Text(text) => component.key_type.parse_key(&text),
        };
        self.components().zip(fields).map(parse).collect()
    }

    pub(super) fn display_value(self, value: &Value) -> Option<String> {
        let Value::Tuple(values) = value else { return None };
        let mut text = String::new();
        for (index, (component, value)) in self.components().zip(values).enumerate() {
            if index > 0 {
                text.push(',');
            }
            if matches!(value, Value::Null) {
                continue;
            }
            record::append(&mut text, &component.key_type.display_value(value)?);
        }
        Some(text)
    }

    /// Parses the name of a tuple, which begins with a parenthesis.
    pub(super) fn parse(name: &str) -> Result<Self> {
        let inner = name.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).ok_or_else(|| unknown(name))?;
        let components = record::split_list(inner).into_iter().map(parse_component).collect::<Result<Vec<_>>>()?;
        Self::new(&components)
    }
}

/// Finds keys of a tuple that have a null, without decoding them.
#[derive(Clone, Debug)]
pub(crate) struct NullTest {
    /// Those up to the last that may be null.
    components: Vec<Component>,
}

impl NullTest {
    /// Whether a component of the key is null.
    pub(crate) fn has_null(&self, mut key: &[u8]) -> bool {
        for component in &self.components {
            if let Some(marker) = component.null_marker() {
                let Some((&found, value)) = key.split_first() else { return false };
                if found == marker {
                    return true;
                }
                key = value;
            }
            let Some(behind) = component.behind(key) else { return false };
            key = behind;
        }
        false
    }
}

fn parse_component(text: &str) -> Result<Component> {
    let (text, nulls) = match (text.strip_suffix(" nulls first"), text.strip_suffix(" nulls last")) {
        (Some(text), _) => (text.trim_end(), NullOrder::First),
        (_, Some(text)) => (text.trim_end(), NullOrder::Last),
        _ => (text, NullOrder::Never),
    };
    let (text, descending) = match (text.strip_suffix(" desc"), text.strip_suffix(" asc")) {
        (Some(text), _) => (text.trim_end(), true),
        (_, Some(text)) => (text.trim_end(), false),
        _ => (text, false),
    };
    let (name, nullable) = text.strip_suffix('?').map_or((text, false), |name| (name, true));
    let nulls = match (nullable, nulls) {
        (true, NullOrder::Never) if descending => NullOrder::First,
        (true, NullOrder::Never) => NullOrder::Last,
        (true, stated) => stated,
        (false, NullOrder::Never) => NullOrder::Never,
        (false, _) => {
            let detail = format!("{name} has no nulls to order; write {name}? for a component that may be null");
            return Err(Error::input(detail));
        }
    };
    let key_type = KeyType::scalar(name).ok_or_else(|| unknown(name))?;
    Ok(Component { key_type, descending, nulls })
}

impl fmt::Display for TupleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, component) in self.components().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{}", component.key_type)?;
            if component.nulls != NullOrder::Never {
                f.write_str("?")?;
            }
            if component.descending {
                f.write_str(" desc")?;
            }
            match component.nulls {
                NullOrder::Never => {}
                NullOrder::First => f.write_str(" nulls first")?,
                NullOrder::Last => f.write_str(" nulls last")?,
            }
        }
        f.write_str(")")
    }
}

impl fmt::Debug for TupleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
