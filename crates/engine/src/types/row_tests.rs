//! Property tests of rows. Method: types and values are drawn, also types that were extended after a row was written;
//! what is read is compared with the values.

use super::row_type::FIELD_NAME_BYTES_MAX;
use super::tests::{Draw, compare};
use super::*;
use crate::error::Error;
use proptest::prelude::*;
use std::cmp::Ordering;

impl Draw {
    fn row_type(&mut self) -> RowType {
        let end = if self.below(10) == 0 { 300 } else { 6 };
        let count = 1 + self.below(end);
        let fields: Vec<Field> = (0..count)
            .map(|index| {
                let begin = self.pick(&["", "a", "Preis", "größe ", "x\"y", "a,b", "(", "{", ": u8", "a?"]);
                let field = Field::new(format!("{begin}{index}"), self.scalar());
                if self.below(2) == 0 { field.nullable() } else { field }
            })
            .collect();
        RowType::new(fields).unwrap()
    }

    fn row(&mut self, row_type: &RowType) -> Vec<Value> {
        let long = self.below(20) == 0;
        let field = |field: &Field| match field.key_type {
            _ if field.nullable && self.below(3) == 0 => Value::Null,
            KeyType::Bytes if long => Value::Bytes(vec![7; self.pick(&[255, 256, 65_535, 65_536, 70_000])]),
            key_type => self.value(key_type),
        };
        row_type.fields().iter().map(field).collect()
    }
}

fn same(row_type: &RowType, read: &[Value], written: &[Value]) -> bool {
    row_type.fields().iter().zip(read.iter().zip(written)).all(|(field, pair)| match pair {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (read, written) => compare(field.key_type, read, written) == Ordering::Equal,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn rows_are_read_as_they_were_written(seed: u64) {
        let mut draw = Draw(seed);
        let row_type = draw.row_type();
        let values = draw.row(&row_type);
        let value_type = ValueType::Row(row_type.clone());
        let bytes = value_type.encode(&Value::Tuple(values.clone())).unwrap();
        prop_assert!(value_type.width().is_none_or(|width| width == bytes.len()));
        let row = value_type.row(&bytes).unwrap();
        prop_assert!(same(&row_type, &row.values().unwrap(), &values), "{} {:?}", row_type, values);
        let one_by_one: Vec<_> = (0..values.len()).map(|index| row.field(index).unwrap()).collect();
        prop_assert_eq!(row.iter().collect::<Vec<_>>(), one_by_one);
        let index = draw.below(values.len());
        let field = &row_type.fields()[index];
        let named = row.get(&field.name).unwrap();
        prop_assert!(named == row.value(index).unwrap() || matches!(named, Value::Float(_)));
        match row.field(index).unwrap() {
            None => prop_assert_eq!(&values[index], &Value::Null),
            // Floats keep all their bits, which keys do not; a 32-bit NaN may gain one on its way through 64 bits.
            Some(found) => match (&values[index], row.value(index).unwrap()) {
                (Value::Float(float), Value::Float(read)) if *float == 0.0 || float.is_nan() => {
                    prop_assert_eq!(read.is_sign_negative(), float.is_sign_negative());
                    prop_assert!(field.key_type != KeyType::F64 || read.to_bits() == float.to_bits());
                }
                (value, _) => prop_assert_eq!(found, field.key_type.encode(value).unwrap()),
            },
        }
        // Some fields, in any order, of the row and of bytes that may be none.
        let wanted: Vec<usize> = (0..draw.below(6)).map(|_| draw.below(values.len())).collect();
        let reader = FieldReader::new(&row_type, &wanted).unwrap();
        let mut changed = bytes.clone();
        if draw.below(2) == 0 {
            changed.truncate(draw.below(bytes.len() + 1));
        }
        if let Some(byte) = changed.get_mut(draw.below(8)) {
            *byte ^= 1 << draw.below(8);
        }
        for bytes in [&bytes, &changed] {
            let mut found = Vec::new();
            let read = reader.read(bytes, |number, field| {
                found.push((number, field.map(<[u8]>::to_vec)));
                Ok(())
            });
            let fields = Row::new(&row_type, bytes).and_then(|row| {
                let field = |&index: &usize| Ok(row.field(index)?.map(<[u8]>::to_vec));
                wanted.iter().map(field).collect::<Result<Vec<_>, Error>>()
            });
            match fields {
                Ok(fields) => {
                    prop_assert!(read.is_ok());
                    prop_assert_eq!(found, fields.into_iter().enumerate().collect::<Vec<_>>());
                }
                Err(_) => prop_assert!(read.is_err()),
            }
        }
        prop_assert!(FieldReader::new(&row_type, &[values.len()]).is_err());
        // By the bytes of the fields.
        let mut builder = RowBuilder::new(row_type.clone());
        let mut again = vec![1];
        for index in 0..values.len() {
            builder.push_bytes(row.field(index).unwrap()).unwrap();
        }
        builder.finish(&mut again).unwrap();
        prop_assert_eq!(&again[1..], &bytes[..]);
        prop_assert!(row.field(values.len()).is_err() && row.get("absent").is_err());
    }

    #[test]
    fn fields_are_added_at_the_end_of_a_type(seed: u64) {
        let mut draw = Draw(seed);
        let later = draw.row_type();
        let count = 1 + draw.below(later.fields().len());
        let older = RowType::new(&later.fields()[..count]).unwrap();
        let added = later.fields()[count..].iter().map(|field| field.clone().nullable());
        let later = RowType::new(older.fields().iter().cloned().chain(added).collect::<Vec<_>>()).unwrap();
        prop_assert!(later.extends(&older) && (count == later.fields().len() || !older.extends(&later)));
        let mut values = draw.row(&older);
        let bytes = ValueType::Row(older.clone()).encode(&Value::Tuple(values.clone())).unwrap();
        values.resize(later.fields().len(), Value::Null);
        prop_assert!(same(&later, &Row::new(&later, &bytes).unwrap().values().unwrap(), &values));
        let whole = ValueType::Row(later.clone()).encode(&Value::Tuple(draw.row(&later))).unwrap();
        prop_assert!(count == later.fields().len() || Row::new(&older, &whole).is_err());
    }

    #[test]
    fn rows_are_shown_as_they_are_read_and_types_named_and_coded(seed: u64) {
        let mut draw = Draw(seed);
        let row_type = draw.row_type();
        let values = draw.row(&row_type);
        let value_type = ValueType::Row(row_type.clone());
        prop_assert_eq!(&value_type.to_string().parse::<ValueType>().unwrap(), &value_type);
        prop_assert_eq!(ValueType::from_code(&value_type.code()).unwrap(), value_type.clone());
        let bytes = value_type.encode(&Value::Tuple(values.clone())).unwrap();
        let shown = value_type.display(&bytes);
        if row_type.display_value(&values).is_some() {
            // All NaNs are shown as one.
            let read = value_type.comparable(&value_type.parse(&shown).unwrap());
            prop_assert_eq!(read, value_type.comparable(&bytes), "{} as {}", value_type, shown);
        }
    }

    #[test]
    fn any_bytes_are_rows_or_refused(seed: u64, bytes: Vec<u8>) {
        let mut draw = Draw(seed);
        let row_type = draw.row_type();
        let mut bytes = bytes;
        if draw.below(2) == 0 {
            // Near a row.
            bytes = ValueType::Row(row_type.clone()).encode(&Value::Tuple(draw.row(&row_type))).unwrap();
            let at = draw.below(bytes.len().min(8));
            match draw.below(3) {
                0 => bytes.truncate(draw.below(bytes.len())),
                1 => bytes[at] = draw.pick(&[0, 1, 2, 3, 4, 0x7f, 0x80, 0xff]),
                _ => bytes.push(0),
            }
        }
        let value_type = ValueType::Row(row_type.clone());
        let _ = (value_type.display(&bytes), ValueType::from_code(&bytes));
        if let Ok(Value::Tuple(values)) = value_type.decode(&bytes) {
            let again = value_type.encode(&Value::Tuple(values.clone()));
            let again = again.map(|again| value_type.row(&again).unwrap().values().unwrap());
            prop_assert!(again.is_err() || same(&row_type, &again.unwrap(), &values));
        }
    }
}

#[test]
fn types_of_rows_are_checked() {
    for wrong in [
        "{}",
        "{a}",
        "{a: u8, a: u8}",
        "{a: (u8)}",
        "{a: u8",
        "{\"a: u8}",
        "{: u9}",
        "(u8)",
        "{a: u8 desc}",
        "{a: u8,}",
    ] {
        assert!(wrong.parse::<ValueType>().is_err(), "{wrong}");
    }
    let many: Vec<Field> = (0..=FIELDS_MAX).map(|index| Field::new(index.to_string(), KeyType::U8)).collect();
    assert!(RowType::new(&many[..]).is_err() && RowType::new(&many[1..]).is_ok());
    assert!(RowType::new([Field::new("x".repeat(FIELD_NAME_BYTES_MAX + 1), KeyType::U8)]).is_err());
    let spaced: ValueType = "{ a : u8 ? , \"b\"\"c\" : text }".parse().unwrap();
    assert_eq!(spaced.to_string(), "{a: u8?, \"b\"\"c\": text}");
}

#[test]
fn a_builder_refuses_what_is_no_row_and_begins_anew() {
    let row_type = RowType::new([Field::new("n", KeyType::U8), Field::new("t", KeyType::Text).nullable()]).unwrap();
    let mut builder = RowBuilder::new(row_type.clone());
    let mut bytes = Vec::new();
    assert!(builder.push(&Value::Null).is_err());
    assert!(builder.push_bytes(Some(b"ab")).is_err());
    assert!(builder.push(&Value::Unsigned(256)).is_err());
    builder.push(&Value::Unsigned(1)).unwrap();
    assert!(builder.push_bytes(Some(b"\xff")).is_err());
    builder.push(&Value::Unsigned(1)).unwrap();
    assert!(builder.finish(&mut bytes).is_err() && bytes.is_empty());
    builder.push(&Value::Unsigned(1)).unwrap();
    builder.push_bytes(None).unwrap();
    assert!(builder.push(&Value::Null).is_err());
    builder.push_bytes(Some(&[2])).unwrap();
    builder.push(&Value::Text("b".into())).unwrap();
    builder.finish(&mut bytes).unwrap();
    assert_eq!(Row::new(&row_type, &bytes).unwrap().values().unwrap(), [Value::Unsigned(2), Value::Text("b".into())]);
}

#[test]
fn codes_are_those_of_the_document() {
    let document = include_str!("../../../../docs/format/types.md");
    let (_, section) = document.split_once("## Examples of codes").unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    assert!(rows.len() >= 3);
    for row in rows {
        let [name, hex] = row.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>()[..] else { panic!() };
        let value_type: ValueType = name.trim_matches('`').parse().unwrap();
        let found: String = value_type.code().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, hex, "{name}");
    }
}
