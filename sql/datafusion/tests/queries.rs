//! Queries of random tables beside the same rows in memory: every condition, projection, order and limit gives the same
//! rows, whatever the types, the number of partitions, and the repeats of keys.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use arrow_array::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use ogive::types::{Field, KeyColumn, KeyType, RecordType, RowBuilder, RowType, Value, ValueType};
use ogive::{MemoryStorage, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive_arrow::RecordBatchBuilder;
use ogive_datafusion::OgiveTable;
use std::sync::Arc;

/// Tables of a run, and queries of each.
const TABLES: u64 = 30;
const QUERIES: u64 = 30;

/// A generator of numbers from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

const KEY_TYPES: [&str; 9] = ["u64", "i64", "i32", "u8", "text", "f64", "date", "decimal(9,2)", "(i32, text)"];

/// The key of a number, in the order of the numbers, and the literal of the same in SQL.
fn key_of(key_type: KeyType, number: u64) -> (Vec<u8>, String) {
    let signed = number as i128 - 60;
    let (value, literal) = match key_type {
        KeyType::U64 | KeyType::U8 => (Value::Unsigned(number.into()), number.to_string()),
        KeyType::I64 | KeyType::I32 => (Value::Signed(signed), signed.to_string()),
        KeyType::Text => (Value::Text(format!("k{number:03}")), format!("'k{number:03}'")),
        KeyType::F64 => (Value::Float(number as f64 / 4.0 - 9.0), format!("{:.2}", number as f64 / 4.0 - 9.0)),
        KeyType::Date => (Value::Signed(number.into()), format!("date '1970-01-01' + interval '{number} days'")),
        KeyType::Decimal { .. } => {
            (Value::Signed(signed), format!("cast('{}.{:02}' as decimal(9,2))", signed / 100, (signed % 100).abs()))
        }
        _ => (
            Value::Tuple(vec![Value::Signed((number / 7).into()), Value::Text(format!("t{}", number % 7))]),
            (number / 7).to_string(),
        ),
    };
    (key_type.encode(&value).unwrap(), literal)
}

fn record_type(key_type: KeyType) -> RecordType {
    let fields = vec![
        Field::new("number", KeyType::I64),
        Field::new("name", KeyType::Text).nullable(),
        Field::new("weight", KeyType::F64).nullable(),
    ];
    let values = ValueType::Row(RowType::new(fields).unwrap());
    let names: &[&str] = if matches!(key_type, KeyType::Tuple(_)) { &["key", "part"] } else { &["key"] };
    let column = |(at, name): (usize, &&str)| KeyColumn { name: (*name).to_owned(), position: at as u16 };
    RecordType::new(key_type, values).key_columns(names.iter().enumerate().map(column).collect())
}

fn condition(draw: &mut Draw, key_type: KeyType) -> String {
    let literal = |draw: &mut Draw| {
        let number = draw.below(130);
        key_of(key_type, number).1
    };
    match draw.below(12) {
        0 => format!("key = {}", literal(draw)),
        1 => format!("{} >= key", literal(draw)),
        2 => format!("key > {}", literal(draw)),
        3 => format!("key between {} and {}", literal(draw), literal(draw)),
        4 => {
            let list: Vec<String> = (0..1 + draw.below(6)).map(|_| literal(draw)).collect();
            format!("key in ({})", list.join(", "))
        }
        5 if key_type == KeyType::Text => format!("key like 'k{}%'", draw.below(12)),
        6 if key_type == KeyType::Text => format!("starts_with(key, 'k0{}')", draw.below(10)),
        7 => "key is not null".to_owned(),
        8 => format!("number % {} = 0", 2 + draw.below(3)),
        9 => format!("(key < {} or key = {})", literal(draw), literal(draw)),
        10 => format!("key <> {}", literal(draw)),
        11 => "name is null".to_owned(),
        _ => format!("key <= {}", literal(draw)),
    }
}

fn query(draw: &mut Draw, key_type: KeyType) -> String {
    let conditions: Vec<String> = (0..draw.below(4)).map(|_| condition(draw, key_type)).collect();
    let filter = if conditions.is_empty() { String::new() } else { format!("where {}", conditions.join(" and ")) };
    match draw.below(9) {
        0 => format!("select count(*) from t {filter}"),
        1 => format!("select count(*), min(key), max(key), sum(number) from t {filter}"),
        2 => format!("select key from t {filter} order by key, number"),
        3 => format!("select key, number from t {filter} order by key desc, number limit {}", draw.below(20)),
        4 => format!("select name, count(*) from t {filter} group by name order by name"),
        5 => format!("select key, count(*) from t {filter} group by key order by key limit {}", draw.below(30)),
        6 => format!(
            "select a.key, a.number, b.number from t a join t b on a.key = b.key {} order by 1, 2, 3",
            filter.replace("key", "a.key").replace("number", "a.number").replace("name", "a.name")
        ),
        7 => format!("select number + 1, weight from t {filter} order by number"),
        _ => format!("select * from t {filter} order by number"),
    }
}

async fn rows(context: &SessionContext, query: &str) -> String {
    let found = context.sql(query).await.unwrap().collect().await.unwrap();
    let found: Vec<RecordBatch> = found.into_iter().filter(|batch| batch.num_rows() > 0).collect();
    datafusion::arrow::util::pretty::pretty_format_batches(&found).unwrap().to_string()
}

async fn check(seed: u64) {
    let mut draw = Draw(seed);
    let key_type: KeyType = draw.pick(&KEY_TYPES).parse().unwrap();
    let types = record_type(key_type);
    let (count, distinct) = (*draw.pick(&[0, 1, 5, 300, 3_000, 70_000]), draw.below(2) == 0);
    let step = if distinct { 1 } else { 1 + draw.below(9) };
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().record_type(types.clone()).block_bytes(Some(*draw.pick(&[512, 4096])));
    let mut writer = TableWriter::create(storage.clone(), "t.ogive", options).unwrap();
    let mut builder = RecordBatchBuilder::new(&types);
    let ValueType::Row(row_type) = &types.values else { unreachable!() };
    let mut row = RowBuilder::new(row_type.clone());
    let limit = match key_type {
        KeyType::U8 => 256,
        KeyType::Decimal { .. } => 1 << 20,
        _ => 1 << 30,
    };
    for number in (0..count).take_while(|number| number / step < limit) {
        let (key, _) =
            key_of(key_type, if key_type == KeyType::Text && number / step > 999 { break } else { number / step });
        row.push(&Value::Signed(number.into())).unwrap();
        row.push(&if number % 5 == 0 { Value::Null } else { Value::Text(format!("n{}", number % 4)) }).unwrap();
        row.push(&if number % 7 == 0 { Value::Null } else { Value::Float(number as f64 / 8.0) }).unwrap();
        let mut value = Vec::new();
        row.finish(&mut value).unwrap();
        writer.append(&key, &value).unwrap();
        builder.append(&key, Some(&value)).unwrap();
    }
    writer.finish().unwrap();
    let batch = builder.finish().unwrap();
    let table = OgiveTable::new(Table::open(storage, "t.ogive", &TableOptions::default()).unwrap()).unwrap();
    let partitions = *draw.pick(&[1, 2, 3, 16]);
    let session = || SessionContext::new_with_config(SessionConfig::new().with_target_partitions(partitions));
    let (ours, reference) = (session(), session());
    let memory = MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap();
    ours.register_table("t", Arc::new(table)).unwrap();
    reference.register_table("t", Arc::new(memory)).unwrap();
    for _ in 0..QUERIES {
        let query = query(&mut draw, key_type);
        if count > 10_000 && query.contains("join") && !distinct {
            continue;
        }
        assert_eq!(rows(&ours, &query).await, rows(&reference, &query).await, "seed {seed}, {key_type}: {query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_give_the_rows_of_the_same_table_in_memory() {
    let first = std::env::var("OGIVE_SQL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for seed in first..first + TABLES {
        check(seed).await;
    }
}
