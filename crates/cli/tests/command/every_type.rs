//! A keyspace of any types comes back equal from an export, in each format. Method: keyspaces of drawn types, with keys
//! and values of each scalar type, tuples with nulls in either direction, rows, scalars and keys alone, and records
//! from the ends of the types' ranges; compared by the bytes of all records, types and names of columns. A format that
//! states types needs no options, others take those that name them; and a keyspace of known types needs none.

use super::run::Folder;
use ogive::types::{ColumnPlace, Field, RecordType, RowType, TimeUnit, Value, ValueType};
use ogive::{Db, DbOptions, KeyType};

/// Numbers from a seed (SplitMix64).
struct Draws(u64);

/// Types whose keys and values have one form each in every format.
const SCALARS: [&str; 37] = [
    "bool",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "f32",
    "f64",
    "text",
    "bytes",
    "bytes1",
    "bytes16",
    "bytes255",
    "uuid",
    "date",
    "time(s)",
    "time(ms)",
    "time(us)",
    "time(ns)",
    "timestamp(s)",
    "timestamp(ms)",
    "timestamp(us)",
    "timestamp(ns)",
    "decimal(1,0)",
    "decimal(4,4)",
    "decimal(9,2)",
    "decimal(10,3)",
    "decimal(18,18)",
    "decimal(19,0)",
    "decimal(38,0)",
    "decimal(38,38)",
    "decimal(30,5)",
];

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % end as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn scalar(&mut self) -> &'static str {
        self.one(&SCALARS)
    }

    fn name(&mut self) -> String {
        let pieces = ["a", "key", "value", "unit price", "é", "\"", ",", "x=y", "N", "_2"];
        (0..=self.below(3)).map(|_| self.one(&pieces)).collect()
    }

    fn text(&mut self) -> String {
        let pieces = ["\t", "\n", "\r", "\\", "\\N", "\"", ",", " ", "null", "é", "a", "7", "\0", "\u{8}", "1.5", "{}"];
        (0..self.below(4)).map(|_| self.one(&pieces)).collect()
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.one(&[0, b'\n', b'\r', b'\t', b'"', b',', b'\\', b'N', b'a', 0x80, 0xff])).collect()
    }

    /// An integer of a type of this many bits, often at an end of its range.
    fn unsigned(&mut self, bits: u32) -> u128 {
        let most = u128::MAX >> (128 - bits);
        match self.below(4) {
            0 => most - self.below(2) as u128,
            1 => 1 << self.below(bits as usize),
            _ => self.below(10) as u128 & most,
        }
    }

    fn signed(&mut self, bits: u32) -> i128 {
        (self.unsigned(bits) << (128 - bits)).cast_signed() >> (128 - bits)
    }

    fn float(&mut self) -> f64 {
        let floats = [0.0, -0.0, 1.5, -2.25, 0.1, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, -1e300];
        match self.below(12) {
            10 => f64::NEG_INFINITY,
            11 => f64::NAN,
            at => floats[at],
        }
    }

    fn value(&mut self, key_type: KeyType) -> Value {
        let per_second = |unit| match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000_u64,
        };
        match key_type {
            KeyType::Bool => Value::Bool(self.below(2) == 0),
            KeyType::U8 | KeyType::U16 | KeyType::U32 | KeyType::U64 | KeyType::U128 => {
                Value::Unsigned(self.unsigned(8 * key_type.width().unwrap() as u32))
            }
            KeyType::I8 | KeyType::I16 | KeyType::I32 | KeyType::I64 | KeyType::I128 | KeyType::Date => {
                Value::Signed(self.signed(8 * key_type.width().unwrap() as u32))
            }
            KeyType::F32 => Value::Float((self.float() as f32).into()),
            KeyType::F64 => Value::Float(self.float()),
            KeyType::Text => Value::Text(self.text()),
            KeyType::Bytes => {
                let count = self.below(4);
                Value::Bytes(self.bytes(count))
            }
            KeyType::FixedBytes(_) | KeyType::Uuid => Value::Bytes(self.bytes(key_type.width().unwrap())),
            KeyType::Time(unit) => {
                let end = u128::from(86_400 * per_second(unit));
                Value::Unsigned([0, 1, end / 2, end - 1][self.below(4)])
            }
            // More seconds are no milliseconds, of which Parquet has 64 bits.
            KeyType::Timestamp(TimeUnit::Second) => Value::Signed(self.signed(64) / 1000),
            KeyType::Timestamp(_) => Value::Signed(self.signed(64)),
            KeyType::Decimal { precision, .. } => {
                let most = 10_i128.pow(precision.into()) - 1;
                Value::Signed([0, 1, -1, most, -most, most / 7][self.below(6)])
            }
            _ => unreachable!("{key_type} is no scalar"),
        }
    }

    fn keys(&mut self) -> KeyType {
        if self.below(2) == 0 {
            return self.scalar().parse().unwrap();
        }
        let component = |draws: &mut Self| {
            let marks = ["", " desc", "? nulls first", "? nulls last", "? desc nulls first", "? desc nulls last"];
            format!("{}{}", draws.scalar(), draws.one(&marks))
        };
        let components: Vec<String> = (0..=self.below(3)).map(|_| component(self)).collect();
        format!("({})", components.join(", ")).parse().unwrap()
    }

    fn row(&mut self) -> ValueType {
        let mut fields: Vec<Field> = Vec::new();
        for _ in 0..=self.below(5) {
            let field = Field::new(self.name(), self.scalar().parse().unwrap());
            if fields.iter().all(|other| other.name != field.name) {
                fields.push(if self.below(2) == 0 { field.nullable() } else { field });
            }
        }
        ValueType::Row(RowType::new(fields).unwrap())
    }

    fn types(&mut self) -> RecordType {
        let keys = self.keys();
        match self.below(4) {
            0 => RecordType::new(keys, ValueType::default()).keys_only(),
            1 => RecordType::new(keys, self.scalar().parse::<KeyType>().unwrap()),
            _ => RecordType::new(keys, self.row()),
        }
    }

    fn key(&mut self, types: &RecordType) -> Vec<u8> {
        let value = match types.keys {
            KeyType::Tuple(tuple) => Value::Tuple(
                tuple
                    .components()
                    .map(|component| match component.nulls {
                        ogive::types::NullOrder::Never => self.value(component.key_type),
                        _ if self.below(3) == 0 => Value::Null,
                        _ => self.value(component.key_type),
                    })
                    .collect(),
            ),
            scalar => self.value(scalar),
        };
        types.keys.encode(&value).unwrap()
    }

    fn stored(&mut self, types: &RecordType) -> Vec<u8> {
        let value = match &types.values {
            _ if types.is_keys_only() => return Vec::new(),
            ValueType::Scalar(scalar) => self.value(*scalar),
            ValueType::Row(row) => Value::Tuple(
                row.fields()
                    .iter()
                    .map(|field| match field.nullable && self.below(3) == 0 {
                        true => Value::Null,
                        false => self.value(field.key_type),
                    })
                    .collect(),
            ),
        };
        types.values.encode(&value).unwrap()
    }
}

/// All that a store says of its default keyspace, with names of columns, which fields named as keys do not keep.
fn content(folder: &Folder, store: &str) -> (RecordType, Vec<String>) {
    let db = Db::open_read_only(folder.path(store), &DbOptions::default()).unwrap();
    let types = db.record_type().as_ref().clone();
    let kinds = format!("{} -> row: {}", types.keys, matches!(types.values, ValueType::Row(_)));
    let columns = types.columns().into_iter().map(|column| format!("{column:?}"));
    let records = db.iter().map(|record| record.map(|(key, value)| format!("{key:?} -> {value:?}")).unwrap());
    let all = [kinds].into_iter().chain(columns).chain(records).collect();
    (types, all)
}

fn declare(folder: &Folder, store: &str, types: &RecordType) -> Db {
    let db = Db::open(folder.path(store), &DbOptions::default()).unwrap();
    db.declare(types).unwrap();
    db
}

/// Runs the command. A process that another test begins has this one's locks for a moment.
fn unlocked(folder: &Folder, arguments: &[&str]) {
    let mut run = folder.run(arguments);
    while run.stderr.contains("is locked by process") {
        std::thread::sleep(std::time::Duration::from_millis(10));
        run = folder.run(arguments);
    }
    run.exits_with(0);
}

/// The options that name all types, for formats that do not state them.
fn options(types: &RecordType) -> Vec<String> {
    let columns = types.columns();
    let mut options = vec!["--key-type".to_owned(), types.keys.to_string()];
    let mut keys: Vec<(usize, &str)> = Vec::new();
    for column in &columns {
        match (column.place, &types.values) {
            (ColumnPlace::Key(at), _) => keys.push((at, &column.name)),
            (ColumnPlace::Value(_), ValueType::Scalar(scalar)) => {
                options.extend(["--value-type".to_owned(), scalar.to_string()]);
            }
            (ColumnPlace::Value(_), ValueType::Row(_)) => {
                let mark = if column.nullable { "?" } else { "" };
                options.extend(["--type".to_owned(), format!("{}={}{mark}", column.name, column.key_type)]);
            }
        }
    }
    keys.sort_unstable();
    options.extend(keys.into_iter().flat_map(|(_, name)| ["--key".to_owned(), name.to_owned()]));
    options
}

/// Exports records of these types in these formats, and imports them into a new store and into one of known types.
fn comes_back(draws: &mut Draws, types: &RecordType, formats: &[&str]) {
    let folder = Folder::new();
    let db = declare(&folder, "s", types);
    (0..12).for_each(|_| db.insert(draws.key(types), draws.stored(types)).unwrap());
    db.close().unwrap();
    let expected = content(&folder, "s");
    let given = options(types);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    for format in formats.iter().filter(|format| cfg!(feature = "parquet") || **format != "parquet") {
        let (verb, given) = match *format {
            "ogive" => ("ingest", &[][..]),
            "parquet" => ("import", &[][..]),
            _ => ("import", &given[..]),
        };
        let file = format!("out.{format}");
        unlocked(&folder, &["export", "s", &file]);
        let fresh = format!("fresh-{format}");
        unlocked(&folder, &[&["db", verb, &fresh, &file][..], given].concat());
        assert_eq!(content(&folder, &fresh).1, expected.1, "{format} of {types}");
        let known = format!("known-{format}");
        declare(&folder, &known, types).close().unwrap();
        unlocked(&folder, &["db", verb, &known, &file]);
        let found = content(&folder, &known);
        assert_eq!(found.1, expected.1, "{format} of {types}, with known types");
        assert_eq!((found.0.keys, found.0.values), (types.keys, types.values.clone()), "{format}");
    }
}

const FORMATS: [&str; 5] = ["csv", "tsv", "jsonl", "ogive", "parquet"];

#[test]
fn a_keyspace_of_each_scalar_type_comes_back() {
    let mut draws = Draws(5);
    for (at, name) in SCALARS.iter().enumerate() {
        let scalar: KeyType = name.parse().unwrap();
        let formats = ["parquet", ["csv", "tsv", "jsonl"][at % 3]];
        comes_back(&mut draws, &RecordType::new(scalar, scalar), &formats);
    }
}

#[test]
fn a_keyspace_of_any_types_comes_back_from_each_format() {
    let mut draws = Draws(11);
    let field = |(at, name): (usize, &&str)| Field::new(format!("f{at}"), name.parse().unwrap());
    let fields = SCALARS.iter().enumerate().map(field).collect::<Vec<_>>();
    let nullable = fields.iter().cloned().map(Field::nullable).collect::<Vec<_>>();
    let tuple = |names: &[&str], mark: &str| format!("({}{mark})", names.join(&format!("{mark}, ")));
    comes_back(&mut draws, &RecordType::new(KeyType::Date, RowType::new(fields).unwrap()), &FORMATS);
    comes_back(&mut draws, &RecordType::new(KeyType::U8, RowType::new(nullable).unwrap()), &FORMATS);
    for (names, mark) in SCALARS.chunks(13).zip(["?", " desc", "? nulls first"]) {
        comes_back(&mut draws, &RecordType::new(tuple(names, mark).parse().unwrap(), KeyType::F32), &FORMATS);
    }
    for _ in 0..10 {
        let types = draws.types();
        comes_back(&mut draws, &types, &FORMATS);
    }
}

#[cfg(feature = "parquet")]
#[test]
fn what_parquet_cannot_carry_is_told_at_the_export() {
    let folder = Folder::new();
    let seconds = KeyType::Timestamp(TimeUnit::Second);
    let db = declare(&folder, "s", &RecordType::new(KeyType::U8, seconds));
    let most = i128::from(i64::MAX) / 1000;
    let put = |key: u8, time: i128| {
        db.insert([key], seconds.encode(&Value::Signed(time)).unwrap()).unwrap();
    };
    [most, -most].into_iter().zip(0..).for_each(|(time, key)| put(key, time));
    unlocked(&folder, &["export", "s", "fits.parquet"]);
    put(2, most + 1);
    db.close().unwrap();
    let run = folder.run(&["export", "s", "out.parquet"]).exits_with(1);
    run.complains_of("record 3 has a time in column 'value' beyond those of Parquet").complains_of("CSV or JSON lines");
    unlocked(&folder, &["export", "s", "out.csv"]);
}

#[cfg(feature = "parquet")]
#[test]
fn an_export_to_parquet_builds_an_equal_table_and_other_columns_are_what_they_are() {
    let folder = Folder::new();
    folder.write("rows.csv", "a,b,c\n1,x,2.50\n2,y,3.25\n");
    let given = ["--key", "b", "--key", "a", "--key-type", "(text desc, u64?)", "--value-type", "decimal(8,2)"];
    folder.build("rows.csv", "t.ogive", &given);
    let rows = "y,2\t3.25\nx,1\t2.50\n";
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints(rows);
    folder.run(&["export", "t.ogive", "out.parquet"]).exits_with(0);
    folder.build("out.parquet", "u.ogive", &[]);
    folder.run(&["scan", "u.ogive"]).exits_with(0).prints(rows);
    for option in ["key_type", "value_type"] {
        let told = |table: &str| folder.run(&["explain", table, "--json"]).exits_with(0).json()[option].clone();
        assert_eq!(told("u.ogive"), told("t.ogive"));
    }
    // Options go before what the file tells.
    folder.build("out.parquet", "v.ogive", &["--key", "value", "--value", "a"]);
    folder.run(&["scan", "v.ogive"]).exits_with(0).prints("2.50\t1\n3.25\t2\n");
    folder.build("out.parquet", "w.ogive", &["--keys-only"]);
    folder.run(&["scan", "w.ogive", "--json"]).exits_with(0).prints("{\"a\":2,\"b\":\"y\"}\n{\"a\":1,\"b\":\"x\"}\n");
}

#[test]
fn a_field_that_has_the_name_of_the_key_is_found_by_it_and_by_the_name_in_exports() {
    let folder = Folder::new();
    let values = "{key: text, n: u8}".parse::<ValueType>().unwrap();
    declare(&folder, "s", &RecordType::new(KeyType::U64, values)).close().unwrap();
    folder.write("own.csv", "id,key,n\n1,x,7\n");
    unlocked(&folder, &["db", "import", "s", "own.csv", "--key", "id"]);
    folder.write("exported.csv", "key,key_2,n\n2,y,8\n");
    unlocked(&folder, &["db", "import", "s", "exported.csv"]);
    folder.run(&["scan", "s"]).exits_with(0).prints("1\tx\t7\n2\ty\t8\n");
}
