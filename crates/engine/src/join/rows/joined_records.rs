//! Records of the output of a join: the columns of both sides.

use super::form::RowMarks;
use crate::error::{Error, Result};
use crate::join::rows::options::JoinKind;
use crate::types::record_type::unused_name;
use crate::types::{ColumnPlace, Field, KeyColumn, KeyType, RecordType, Row, RowBuilder, RowType, ValueType};
use std::collections::HashSet;

/// Widest values of a fixed width that are a field of that width.
const FIXED_BYTES_MAX: usize = u8::MAX as usize;

/// What a side contributes to the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SideFields {
    /// A truth value: whether there is such a row. The side has no values, and the join keeps rows without partner.
    Presence,
    /// Nothing.
    Nothing,
    /// Its value.
    Scalar,
    /// The fields of its rows.
    Row(RowType),
}

/// The rows that a join writes to a table: the key, then the fields of the left and the right side. Fields of a side
/// that may have no partner may be null. Of fields with the same name, that of the right side gets `right_` in front;
/// the values of a side that are not rows are the field `left` or `right`.
///
/// A side that is known to have no values ([`JoinSource::value_bytes`] is 0) has no field. If its rows may be missing,
/// as those of the right side in a left join, it has a field `left` or `right` of type `bool` that says whether there
/// is such a row, before all others. A side of bytes that does not state their width has its field, even if all are
/// empty.
///
/// [`JoinSource::value_bytes`]: crate::join::JoinSource::value_bytes
#[derive(Clone, Debug)]
pub struct JoinedRecords {
    record_type: RecordType,
    sides: [SideFields; 2],
    builder: Option<RowBuilder>,
    /// The marks in front of dense rows, if the values of both sides are bytes.
    marks: Option<RowMarks>,
    /// The names of the relations and their types, for messages.
    names: [String; 2],
    types: [RecordType; 2],
}

impl JoinedRecords {
    /// The rows of a join of this kind, of sides with these types and these widths of values.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for more fields than a row has.
    pub(crate) fn new(
        kind: JoinKind,
        keys: KeyType,
        types: [&RecordType; 2],
        widths: [Option<usize>; 2],
    ) -> Result<Self> {
        let may_lack = [kind.keeps_unmatched_right(), kind.keeps_unmatched() && kind.pairs()];
        let mut sides = [SideFields::Nothing, SideFields::Nothing];
        let (mut first, mut fields) = (Vec::new(), Vec::new());
        let key_columns = key_columns(keys, types[0]);
        let named = RecordType::new(keys, KeyType::Bytes).key_columns(key_columns.clone()).columns().into_iter();
        let of_keys = named.filter(|column| matches!(column.place, ColumnPlace::Key(_)));
        let mut taken: HashSet<String> = of_keys.map(|column| column.name).collect();
        for (index, name) in ["left", "right"].into_iter().enumerate() {
            if index == 1 && !kind.pairs() {
                break;
            }
            let (values, width) = (&types[index].values, widths[index]);
            let nullable = may_lack[index];
            let mut push = |fields: &mut Vec<Field>, name: &str, key_type, nullable| {
                fields.push(Field { name: unused(&mut taken, name, index == 1), key_type, nullable });
            };
            sides[index] = match values {
                ValueType::Row(row_type) => {
                    for field in row_type.fields() {
                        push(&mut fields, &field.name, field.key_type, field.nullable || nullable);
                    }
                    SideFields::Row(row_type.clone())
                }
                _ if values.is_bytes() && width == Some(0) && nullable => {
                    push(&mut first, name, KeyType::Bool, false);
                    SideFields::Presence
                }
                _ if values.is_bytes() && width == Some(0) => SideFields::Nothing,
                ValueType::Scalar(KeyType::Bytes) => {
                    let fixed = width.filter(|width| (1..=FIXED_BYTES_MAX).contains(width));
                    let key_type = fixed.map_or(KeyType::Bytes, |width| KeyType::FixedBytes(width as u8));
                    push(&mut fields, name, key_type, nullable);
                    SideFields::Scalar
                }
                ValueType::Scalar(key_type) => {
                    push(&mut fields, name, *key_type, nullable);
                    SideFields::Scalar
                }
            };
        }
        first.extend(fields);
        let builder = if first.is_empty() { None } else { Some(RowBuilder::new(RowType::new(first)?)) };
        let values = builder.as_ref().map_or_else(ValueType::default, |builder| builder.row_type().clone().into());
        let named = RecordType::new(keys, values).key_columns(key_columns);
        let record_type = if builder.is_none() { named.keys_only() } else { named };
        let names = ["the left relation", "the right relation"].map(str::to_owned);
        let mut rows = Self { record_type, sides, builder, marks: None, names, types: types.map(Clone::clone) };
        rows.marks = rows.find_marks(widths);
        Ok(rows)
    }

    /// The same records, with the names of both relations for messages.
    pub(in crate::join) fn named(self, names: [String; 2]) -> Self {
        Self { names, ..self }
    }

    /// The types of the rows.
    #[must_use]
    pub fn record_type(&self) -> &RecordType {
        &self.record_type
    }

    /// Appends the value of a row with this key, of the left and right values that there are.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if a value is not of the type of its side.
    pub fn append(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>, row: &mut Vec<u8>) -> Result<()> {
        let values = [left, right];
        let given = self.fill(values, row);
        given.map_err(|error| {
            if let Some(builder) = &mut self.builder {
                builder.clear();
            }
            let is_wrong = |&side: &usize| values[side].is_some_and(|value| !self.types[side].values.accepts(value));
            match [0, 1].into_iter().find(is_wrong) {
                Some(side) => wrong_value(&self.names[side], &self.types[side], key),
                None => error,
            }
        })
    }

    fn fill(&mut self, values: [Option<&[u8]>; 2], row: &mut Vec<u8>) -> Result<()> {
        let Some(builder) = &mut self.builder else { return Ok(()) };
        for (side, value) in self.sides.iter().zip(values) {
            if *side == SideFields::Presence {
                builder.push_bytes(Some(&[u8::from(value.is_some())]))?;
            }
        }
        for (side, value) in self.sides.iter().zip(values) {
            match (side, value) {
                (SideFields::Presence | SideFields::Nothing, _) => {}
                (SideFields::Scalar, value) => builder.push_bytes(value)?,
                (SideFields::Row(row_type), None) => {
                    row_type.fields().iter().try_for_each(|_| builder.push_bytes(None))?;
                }
                (SideFields::Row(row_type), Some(value)) => {
                    let found = Row::new(row_type, value)?;
                    for index in 0..row_type.fields().len() {
                        builder.push_bytes(found.field(index)?)?;
                    }
                }
            }
        }
        builder.finish(row)
    }

    /// The marks in front of dense rows; `None` if rows are not marks and the values of both sides.
    pub(crate) fn marks(&self) -> Option<RowMarks> {
        self.marks
    }

    /// Finds the marks by making the three rows: all that comes before the values of the sides.
    fn find_marks(&self, widths: [Option<usize>; 2]) -> Option<RowMarks> {
        let is_plain = |side: &SideFields| !matches!(side, SideFields::Row(_));
        let [left, right] = widths;
        let (left, right) = (vec![0; left?], vec![0; right.unwrap_or(0)]);
        let is_fixed = self.builder.is_none() || self.record_type.values.width().is_some();
        if !self.sides.iter().all(is_plain) || !is_fixed {
            return None;
        }
        let mut rows = self.clone();
        let mut mark = |left: Option<&[u8]>, right: Option<&[u8]>, values: usize| {
            let mut row = Vec::new();
            rows.append(&[], left, right, &mut row).ok()?;
            row.truncate(row.len().checked_sub(values)?);
            Some(row)
        };
        let behind = if self.sides[1] == SideFields::Nothing { 0 } else { right.len() };
        let values = left.len() + behind;
        let both = mark(Some(&left), Some(&right), values)?;
        let lacks = |side: usize| self.builder.is_some() && self.may_lack(side);
        let no_right = if lacks(1) { mark(Some(&left), None, values)? } else { both.clone() };
        let no_left = if lacks(0) { mark(None, Some(&right), values)? } else { both.clone() };
        RowMarks::new([&both, &no_right, &no_left])
    }

    /// Whether the rows of a side may be missing.
    fn may_lack(&self, side: usize) -> bool {
        let names = self.record_type.values.fields();
        match self.sides[side] {
            SideFields::Presence => true,
            SideFields::Nothing | SideFields::Row(_) => false,
            // Fields of values come after those of presence, left before right.
            SideFields::Scalar if side == 1 => names.last().is_some_and(|field| field.nullable),
            SideFields::Scalar => {
                let at = self.sides.iter().filter(|side| **side == SideFields::Presence).count();
                names.get(at).is_some_and(|field| field.nullable)
            }
        }
    }
}

/// The columns of the output's keys: those of the left side, if its keys have as many components, before all others.
fn key_columns(keys: KeyType, left: &RecordType) -> Vec<KeyColumn> {
    let components = if let KeyType::Tuple(tuple) = keys { tuple.components().len() } else { 1 };
    if left.key_columns.len() != components {
        return Vec::new();
    }
    let columns = left.key_columns.iter().enumerate();
    columns.map(|(at, column)| KeyColumn { name: column.name.clone(), position: at as u16 }).collect()
}

/// The error of a record whose value is none of its type.
pub(in crate::join) fn wrong_value(relation: &str, types: &RecordType, key: &[u8]) -> Error {
    let (key, values) = (types.keys.display(key), &types.values);
    Error::input(format!("the value of key {key} in {relation} is no value of type {values}"))
}

/// A name that no field has yet.
fn unused(taken: &mut HashSet<String>, name: &str, is_right: bool) -> String {
    match is_right && taken.contains(name) {
        true => unused_name(taken, &format!("right_{name}")),
        false => unused_name(taken, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Value;

    fn made(kind: JoinKind, sides: [&str; 2], widths: [Option<usize>; 2]) -> JoinedRecords {
        let types = sides.map(|name| RecordType::new(KeyType::U64, name.parse::<ValueType>().unwrap()));
        JoinedRecords::new(kind, KeyType::U64, [&types[0], &types[1]], widths).unwrap()
    }

    fn shown(kind: JoinKind, sides: [&str; 2], widths: [Option<usize>; 2]) -> String {
        made(kind, sides, widths).record_type().values.to_string()
    }

    #[test]
    fn fields_of_both_sides_have_one_name_each_and_nulls_where_a_side_may_lack() {
        let sides = ["{name: text, n: u8?}", "{n: i64, name: text, right_n: bool}"];
        let none = [None, None];
        assert_eq!(
            shown(JoinKind::Inner, sides, none),
            "{name: text, n: u8?, right_n: i64, right_name: text, right_right_n: bool}"
        );
        assert_eq!(
            shown(JoinKind::Left, sides, none),
            "{name: text, n: u8?, right_n: i64?, right_name: text?, right_right_n: bool?}"
        );
        assert_eq!(shown(JoinKind::Semi, sides, none), sides[0]);
        assert_eq!(shown(JoinKind::Inner, ["{key: u8}", "{key: u8}"], none), "{key_2: u8, right_key: u8}");
        assert_eq!(shown(JoinKind::Inner, ["bytes", "bytes"], none), "{left: bytes, right: bytes}");
        assert_eq!(shown(JoinKind::Full, ["bytes", "u16"], [Some(300), Some(2)]), "{left: bytes?, right: u16?}");
        assert_eq!(shown(JoinKind::Left, ["bytes", "bytes"], [Some(8), Some(0)]), "{right: bool, left: bytes8}");
        assert_eq!(shown(JoinKind::Inner, ["bytes", "bytes"], [Some(0), Some(0)]), "bytes");
    }

    #[test]
    fn rows_have_the_values_of_the_sides() {
        let mut records = made(JoinKind::Full, ["{name: text}", "{name: text, n: u8}"], [None, None]);
        let sides = ["{name: text}", "{name: text, n: u8}"].map(|name| name.parse::<ValueType>().unwrap());
        let (left, right) = (sides[0].parse("ann").unwrap(), sides[1].parse("bob,7").unwrap());
        let mut shown = |left: Option<&[u8]>, right: Option<&[u8]>| {
            let mut row = Vec::new();
            records.append(&[], left, right, &mut row).unwrap();
            records.record_type().values.display(&row)
        };
        assert_eq!(shown(Some(&left), Some(&right)), "ann,bob,7");
        assert_eq!(shown(Some(&left), None), "ann,,");
        assert_eq!(shown(None, Some(&right)), ",bob,7");
        let wrong = records.append(&7_u64.to_be_bytes(), None, Some(b"no row"), &mut Vec::new()).unwrap_err();
        let message = wrong.to_string();
        assert!(message.contains("key 7 in the right relation is no value of type {name: text, n: u8}"), "{message}");
        let mut row = Vec::new();
        records.append(&[], Some(&left), None, &mut row).unwrap();
        assert_eq!(records.record_type().values.row(&row).unwrap().get("name").unwrap(), Value::Text("ann".into()));
    }

    #[test]
    fn dense_rows_are_marks_and_values() {
        for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Full, JoinKind::Semi] {
            for widths in [[8, 8], [0, 8], [8, 0], [0, 0], [3, 255]] {
                let mut records = made(kind, ["bytes", "bytes"], widths.map(Some));
                let marks = records.marks().unwrap();
                let (left, right) = (vec![1; widths[0]], vec![2; widths[1]]);
                let zeros = widths.map(|width| vec![0; width]);
                let cases: &[(bool, bool)] = match kind {
                    JoinKind::Inner => &[(true, true)],
                    JoinKind::Left => &[(true, true), (true, false)],
                    JoinKind::Full => &[(true, true), (true, false), (false, true)],
                    JoinKind::Semi | JoinKind::Anti => &[(true, false)],
                };
                for &(has_left, has_right) in cases {
                    let mut row = Vec::new();
                    let (ours, theirs) = (has_left.then_some(&left[..]), has_right.then_some(&right[..]));
                    records.append(&[], ours, theirs, &mut row).unwrap();
                    let mark = marks.of(has_left, has_right || !kind.pairs());
                    let behind = if kind.pairs() { theirs.unwrap_or(&zeros[1]) } else { &[] };
                    assert_eq!(row, [mark, ours.unwrap_or(&zeros[0]), behind].concat(), "{kind} {widths:?}");
                }
            }
        }
        assert_eq!(made(JoinKind::Inner, ["bytes", "bytes"], [Some(8), Some(256)]).marks(), None);
        assert_eq!(made(JoinKind::Inner, ["{a: u8}", "bytes"], [Some(2), Some(8)]).marks(), None);
    }
}
