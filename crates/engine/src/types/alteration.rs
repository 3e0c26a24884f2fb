//! Alterations of the type of values: what is asked for, and whether every value of the old type is one of the new.

use super::key_type::{DECIMAL_DIGITS_MAX, KeyType, TimeUnit};
use super::record_type::{ColumnPlace, RecordType};
use super::row_type::{Field, RowType};
use super::value_type::ValueType;
use crate::error::{Error, Result};

/// A change of the type of the values of a keyspace, for [`Keyspace::alter`](crate::lsm::Keyspace::alter): fields are
/// added at the end, may be null from now on, or get a type that [holds](KeyType::holds) all values of the old one.
///
/// ```
/// use ogive::types::{Alteration, Field, KeyType, RecordType, ValueType};
///
/// let fruit: ValueType = "{name: text, amount: u32}".parse()?;
/// let alteration = Alteration::new()
///     .add_field(Field::new("origin", KeyType::Text).nullable())
///     .allow_null("name")
///     .widen("amount", KeyType::U64);
/// let altered = alteration.of(&RecordType::new(KeyType::U64, fruit.clone()))?;
/// assert_eq!(altered.to_string(), "u64 -> {name: text?, amount: u64, origin: text?}");
///
/// let refused = Alteration::to(fruit).of(&altered).unwrap_err();
/// assert!(refused.to_string().contains("the field \"name\" may be null"), "{refused}");
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alteration(Vec<AlterationStep>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum AlterationStep {
    Add(Field),
    Nullable(String),
    Widen(String, KeyType),
    To(ValueType),
}

impl Alteration {
    /// One that changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One that makes values those of this type.
    #[must_use]
    pub fn to(values: impl Into<ValueType>) -> Self {
        Self(vec![AlterationStep::To(values.into())])
    }

    /// Adds a field at the end, which may be null. Rows that are there already have a null in it.
    #[must_use]
    pub fn add_field(self, field: Field) -> Self {
        self.with(AlterationStep::Add(field))
    }

    /// Lets the field of this name be null.
    #[must_use]
    pub fn allow_null(self, name: impl Into<String>) -> Self {
        self.with(AlterationStep::Nullable(name.into()))
    }

    /// Gives the field of this name, or the column `value` of values without fields, a type that holds its values.
    #[must_use]
    pub fn widen(self, name: impl Into<String>, key_type: KeyType) -> Self {
        self.with(AlterationStep::Widen(name.into(), key_type))
    }

    fn with(mut self, step: AlterationStep) -> Self {
        self.0.push(step);
        self
    }

    /// These types after the alteration; the same ones if it changes nothing.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for what would not keep every value exactly, or change its meaning: the
    /// message has the reason, and what to do instead.
    pub fn of(&self, types: &RecordType) -> Result<RecordType> {
        let mut altered = types.clone();
        for step in &self.0 {
            altered.values = step.of(&altered)?;
        }
        if types.is_keys_only() && altered.values != types.values {
            return Err(refused("its records are keys alone, and have no values; use another keyspace for values"));
        }
        altered.check()?;
        altered.values.check_alters(&types.values)?;
        Ok(altered)
    }
}

impl AlterationStep {
    fn of(&self, types: &RecordType) -> Result<ValueType> {
        let (name, changed) = match self {
            Self::To(values) => return Ok(values.clone()),
            Self::Add(field) => {
                let ValueType::Row(row) = &types.values else { return Err(no_fields(&types.values)) };
                if let Some(column) = types.columns().into_iter().find(|column| column.name == field.name) {
                    let name = &field.name;
                    return Err(refused(&format!("it has a column {name:?} already, of type {}", column.key_type)));
                }
                let fields = row.fields().iter().chain([field]).cloned().collect::<Vec<_>>();
                return RowType::new(fields).map(ValueType::Row);
            }
            Self::Nullable(name) => (name, None),
            Self::Widen(name, key_type) => (name, Some(*key_type)),
        };
        match (&types.values, position(types, name)?) {
            (ValueType::Row(row), position) => {
                let mut fields = row.fields().to_vec();
                if let Some(field) = fields.get_mut(position) {
                    field.nullable |= changed.is_none();
                    field.key_type = changed.unwrap_or(field.key_type);
                }
                RowType::new(fields).map(ValueType::Row)
            }
            (ValueType::Scalar(_), _) => changed.map(ValueType::Scalar).ok_or_else(|| no_fields(&types.values)),
        }
    }
}

/// The number of the field of the value with the name of a column.
fn position(types: &RecordType, name: &str) -> Result<usize> {
    let columns = types.columns();
    match columns.iter().find(|column| column.name == name).map(|column| column.place) {
        Some(ColumnPlace::Value(index)) => Ok(index),
        Some(ColumnPlace::Key(_)) => Err(refused(&format!(
            "the column {name:?} belongs to the key, and the bytes of keys order the records; write the records to a \
             keyspace with other keys instead"
        ))),
        None => {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            Err(refused(&format!("it has no column {name:?}; there are: {}", names.join(", "))))
        }
    }
}

fn refused(reason: &str) -> Error {
    Error::input(format!("the types of the keyspace cannot be altered so: {reason}"))
}

fn no_fields(values: &ValueType) -> Error {
    refused(&format!("its values are of type {values}, and have no fields; write them to a keyspace with rows instead"))
}

impl ValueType {
    /// Checks that each value of `older` is a value of this type, with the same meaning.
    fn check_alters(&self, older: &Self) -> Result<()> {
        match (self, older) {
            (Self::Row(this), Self::Row(older)) => this.check_alters(older),
            (Self::Scalar(this), Self::Scalar(older)) => check_holds("values", *this, *older),
            (this, older) => Err(refused(&format!(
                "its values are of type {older}, not {this}; write them to a keyspace of that type instead"
            ))),
        }
    }
}

impl RowType {
    fn check_alters(&self, older: &Self) -> Result<()> {
        for (index, before) in older.fields().iter().enumerate() {
            let name = &before.name;
            match self.fields().get(index) {
                Some(field) if field.name == *name => {
                    check_holds(&format!("the field {name:?}"), field.key_type, before.key_type)?;
                    if before.nullable && !field.nullable {
                        return Err(refused(&format!("the field {name:?} may be null, and there may be nulls in it")));
                    }
                }
                Some(_) if self.position(name).is_some() => {
                    return Err(refused(&format!(
                        "the field {name:?} would get another place; fields keep their order, and new ones come last"
                    )));
                }
                found => {
                    let what = match found {
                        Some(field) => format!("have the name {:?}", field.name),
                        None => "be gone".to_owned(),
                    };
                    return Err(refused(&format!(
                        "the field {name:?} would {what}; fields are neither removed nor renamed, so leave it, or \
                         write the records to another keyspace"
                    )));
                }
            }
        }
        match self.fields()[older.fields().len()..].iter().find(|field| !field.nullable) {
            Some(field) => Err(refused(&format!(
                "the records that are there have nothing for the field {:?}; let it be null: {:?}",
                field.name,
                field.clone().nullable().to_string()
            ))),
            None => Ok(()),
        }
    }
}

fn check_holds(what: &str, this: KeyType, older: KeyType) -> Result<()> {
    if this.holds(older) {
        return Ok(());
    }
    let reason = match (this, older) {
        (KeyType::Timestamp(_), KeyType::Timestamp(_)) => {
            "which does not reach as far: 64 bits of finer units end earlier"
        }
        _ => "which does not hold all its values exactly, with their meaning",
    };
    let wider = wider_names(older);
    Err(refused(&format!(
        "{what} of type {older} would be of type {this}, {reason}; {wider}, or write the records to another keyspace"
    )))
}

/// The types that hold all values of a type, for messages.
fn wider_names(older: KeyType) -> String {
    use KeyType::{Decimal, F32, F64, I8, I16, I32, I64, I128, Timestamp, U8, U16, U32, U64, U128};
    let all = [U8, U16, U32, U64, U128, I8, I16, I32, I64, I128, F32, F64];
    let moments = [Timestamp(TimeUnit::Second), Timestamp(TimeUnit::Millisecond)];
    let decimals = (1..=DECIMAL_DIGITS_MAX).map(|precision| Decimal { precision, scale: 0 });
    let decimal = decimals.into_iter().find(|decimal| decimal.holds(older));
    let wider = all.into_iter().chain(moments).filter(|wider| *wider != older && wider.holds(older));
    let names: Vec<String> = wider.chain(decimal).map(|wider| wider.to_string()).collect();
    match older {
        Decimal { precision, scale } => {
            format!("take a decimal with at least {} digits before the point and {scale} behind it", precision - scale)
        }
        KeyType::Time(_) => "take a time in a finer unit".to_owned(),
        _ if names.is_empty() => "leave it as it is".to_owned(),
        _ => format!("take {}", names.join(", ")),
    }
}
