//! Random tables of SQLite against what the store has of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support::{Place, records};
use ogive::types::Value;
use ogive_testkit::{Random, Repeat, seeds};
use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use std::collections::BTreeMap;

/// The class of the values of a column.
#[derive(Clone, Copy, Debug)]
enum Class {
    Integer,
    Real,
    Text,
    Blob,
    /// Whole numbers and others.
    Number,
}

struct Column {
    name: String,
    class: Class,
    is_not_null: bool,
}

/// How a table has its key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    Rowid,
    RowidColumn,
    Columns { count: usize, is_without_rowid: bool },
}

fn pick<'a, T: ?Sized>(random: &mut Random, of: &[&'a T]) -> &'a T {
    of[random.below(of.len() as u64) as usize]
}

fn declared(class: Class, random: &mut Random) -> &'static str {
    let of: &[&str] = match class {
        Class::Integer => &["INTEGER", "int", "bigint", "BOOLEAN", "", "TIMESTAMP"],
        Class::Real => &["REAL", "double precision", "float", ""],
        Class::Text => &["TEXT", "varchar(3)", "DATETIME", ""],
        Class::Blob => &["BLOB", ""],
        Class::Number => &["NUMERIC", "decimal(8,2)"],
    };
    pick(random, of)
}

fn text(random: &mut Random) -> String {
    let letters = ['a', 'Z', '"', '\'', '\0', ',', ' ', 'é', '𝄞', '\n', '%'];
    // A number in a text stays text, but SQLite makes numbers of it in numeric columns.
    let letter = |random: &mut Random| letters[random.below(letters.len() as u64) as usize];
    let length_max = if random.below(20) == 0 { 3000 } else { 9 };
    let length = random.below(length_max);
    std::iter::once('t').chain((0..length).map(|_| letter(random))).collect()
}

fn value(class: Class, random: &mut Random) -> Sql {
    let integer = |random: &mut Random| match random.below(4) {
        0 => random.below(10) as i64 - 5,
        1 => [i64::MIN, i64::MAX, 0, 1 << 53][random.below(4) as usize],
        _ => random.below(u64::MAX) as i64,
    };
    match class {
        Class::Integer => Sql::Integer(integer(random)),
        Class::Number if random.below(2) == 0 => Sql::Integer(random.below(1 << 53) as i64),
        Class::Real | Class::Number => match random.below(8) {
            0 => Sql::Real(f64::INFINITY),
            1 => Sql::Real(-1e-300),
            _ => Sql::Real(integer(random) as f64 / 7.0 + 0.25),
        },
        Class::Text => Sql::Text(text(random)),
        Class::Blob => Sql::Blob((0..random.below(12)).map(|_| random.below(256) as u8).collect()),
    }
}

/// The value that the store should have.
fn expected(class: Class, value: &Sql) -> Value {
    match (class, value) {
        (_, Sql::Null) => Value::Null,
        (Class::Number | Class::Real, Sql::Integer(integer)) => Value::Float(*integer as f64),
        (_, Sql::Integer(integer)) => Value::from(*integer),
        (_, Sql::Real(real)) => Value::Float(*real),
        (_, Sql::Text(text)) => Value::from(&**text),
        (_, Sql::Blob(blob)) => Value::Bytes(blob.clone()),
    }
}

/// The same value, as a float where it is exactly one: a column of numbers may have whole ones only.
fn as_number(value: Value) -> Value {
    match value {
        Value::Signed(integer) if (integer as f64) as i128 == integer => Value::Float(integer as f64),
        Value::Tuple(values) => Value::Tuple(values.into_iter().map(as_number).collect()),
        value => value,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Creates a table of these columns, each at a place, of which the first ones are the key.
fn create(
    connection: &Connection,
    table: &str,
    columns: &[Column],
    (key, key_columns): (Key, usize),
    place: impl Fn(usize) -> usize,
    random: &mut Random,
) {
    let mut definitions = vec![String::new(); columns.len()];
    for (at, Column { name, class, is_not_null }) in columns.iter().enumerate() {
        let is_key = at < key_columns;
        let (declared, rest) = match (key, is_key) {
            (Key::RowidColumn, true) => ("INTEGER", " PRIMARY KEY"),
            _ => (declared(*class, random), if *is_not_null { " NOT NULL" } else { "" }),
        };
        definitions[place(at)] = format!("{} {declared}{rest}", quoted(name));
    }
    if let Key::Columns { .. } = key {
        let names = columns[..key_columns]
            .iter()
            .map(|column| format!("{}{}", quoted(&column.name), if random.below(3) == 0 { " DESC" } else { "" }));
        definitions.push(format!("PRIMARY KEY ({})", names.collect::<Vec<_>>().join(", ")));
    }
    let end = if matches!(key, Key::Columns { is_without_rowid: true, .. }) { " WITHOUT ROWID" } else { "" };
    connection.execute_batch(&format!("CREATE TABLE {}({}){end}", quoted(table), definitions.join(", "))).unwrap();
}

/// Makes a table, and gives the records that a store should have of it.
fn fill(connection: &Connection, table: &str, random: &mut Random) -> BTreeMap<String, (Value, Value)> {
    let classes = [Class::Integer, Class::Real, Class::Text, Class::Blob, Class::Number];
    let count = 1 + random.below(6) as usize;
    let key = match random.below(4) {
        0 => Key::Rowid,
        1 => Key::RowidColumn,
        _ => Key::Columns { count: 1 + random.below(3) as usize, is_without_rowid: random.below(2) == 0 },
    };
    let key_columns = match key {
        Key::Rowid => 0,
        Key::RowidColumn => 1,
        Key::Columns { count: keys, .. } => keys.min(count),
    };
    let name = |at: usize, random: &mut Random| format!("{}{at}", pick(random, &["c", "größe ", "a\"b", "SELECT "]));
    let column = |at: usize, random: &mut Random| Column {
        name: name(at, random),
        class: classes[random.below(5) as usize],
        is_not_null: random.below(3) == 0,
    };
    let mut columns: Vec<Column> = (0..count).map(|at| column(at, random)).collect();
    if key == Key::RowidColumn {
        columns[0].class = Class::Integer;
    }
    // Keys are not the first columns of the table.
    let shift = random.below(count as u64) as usize;
    let place = |at: usize| (at + shift) % count;
    create(connection, table, &columns, (key, key_columns), place, random);
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    let marks = vec!["?"; count].join(", ");
    let insert = format!("INSERT INTO {}({}) VALUES ({marks})", quoted(table), names.join(", "));
    let mut records = BTreeMap::new();
    for _ in 0..random.below(50) {
        let draw = |(at, Column { class, is_not_null, .. }): (usize, &Column), random: &mut Random| {
            let is_null = at >= key_columns && !is_not_null && random.below(4) == 0;
            if is_null { Sql::Null } else { value(*class, random) }
        };
        let values: Vec<Sql> = columns.iter().enumerate().map(|column| draw(column, random)).collect();
        let mut decoded: Vec<Value> =
            columns.iter().zip(&values).map(|(it, value)| expected(it.class, value)).collect();
        let rest = decoded.split_off(key_columns);
        let shown = format!("{decoded:?}");
        if key_columns > 0 && records.contains_key(&shown) {
            continue;
        }
        connection.execute(&insert, rusqlite::params_from_iter(values)).unwrap();
        let stored_key = match &mut decoded[..] {
            [] => Value::from(connection.last_insert_rowid()),
            [key] => key.clone(),
            _ => Value::Tuple(decoded),
        };
        // Fields are in the order of the table.
        let mut fields: Vec<(usize, Value)> =
            rest.into_iter().zip(key_columns..).map(|(it, at)| (place(at), it)).collect();
        fields.sort_by_key(|(place, _)| *place);
        let value =
            if fields.is_empty() { Value::Null } else { Value::Tuple(fields.into_iter().map(|(_, it)| it).collect()) };
        let shown = if key_columns > 0 { shown } else { format!("[{stored_key:?}]") };
        records.insert(shown, (stored_key, value));
    }
    records
}

#[test]
fn random_tables_arrive_with_their_types_and_values() {
    for seed in seeds(0..12) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let (place, mut random) = (Place::new(), Random::new(seed));
        let connection = Connection::open(place.path("a.db")).unwrap();
        connection
            .execute_batch(pick(&mut random, &["pragma encoding='UTF-16'", "pragma page_size=512", "select 1"]))
            .unwrap_or(());
        let names: Vec<String> = (0..1 + random.below(5)).map(|at| format!("täble \"{at}")).collect();
        connection.execute_batch("begin").unwrap();
        let models: Vec<_> = names.iter().map(|name| fill(&connection, name, &mut random)).collect();
        connection.execute_batch("commit").unwrap();
        place.import(&["a.db", "store"]);
        let db = place.store();
        for (name, model) in names.iter().zip(models) {
            let (types, found) = records(&db, name);
            let shown = |key: &Value| if let Value::Tuple(_) = key { format!("{key:?}") } else { format!("[{key:?}]") };
            let by_key = |records: Vec<(Value, Value)>| -> BTreeMap<String, Value> {
                let records = records.into_iter().map(|(key, value)| (as_number(key), as_number(value)));
                records.map(|(key, value)| (shown(&key), value)).collect()
            };
            assert_eq!(by_key(found), by_key(model.into_values().collect()), "{name}: {types}");
        }
    }
}
