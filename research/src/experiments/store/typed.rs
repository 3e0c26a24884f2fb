//! The cost of types: lookups by typed handles, and the same lookups by bytes that are encoded and decoded by hand.
//!
//! Rounds of both take turns, so that the load of the machine meets both; the figure is the median of the ratios of
//! their processor times.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Result, ensure};
use ogive::typed::{TypedRow, TypedTableWriter};
use ogive::types::Row;
use ogive::{Db, DbOptions, MemoryStorage, Table, TableOptions, TableWriteOptions};

use super::super::{Context, Experiment, Output};
use crate::output::Record;
use crate::random::Random;
use crate::stopwatch::Stopwatch;

pub(crate) const TYPED: Experiment = Experiment {
    name: "store/typed",
    about: "processor time of typed lookups over that of untyped ones, for records in memory (--lookups per round)",
    run,
};

const RECORDS: u64 = 1_000_000;
const LOOKUPS: usize = 200_000;
const ROUNDS: usize = 31;

ogive::row! {
    struct Order {
        item: String,
        amount: u64,
        note: Option<String>,
    }
}

/// A way of looking up a key; returns something made of the value.
type Lookup<'a> = &'a dyn Fn(u64) -> ogive::Result<u64>;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let records = context.asked_count.unwrap_or(RECORDS);
    let mut random = Random::new(context.seed, "typed lookups");
    let lookups = context.lookups.unwrap_or(LOOKUPS);
    let keys: Vec<u64> = (0..lookups).map(|_| random.below(records)).collect();
    let db = Db::open(Arc::new(MemoryStorage::new()), &DbOptions::default().memory_bytes(1 << 30))?;
    numbers(&db, records, &keys, output)?;
    text(&db, records, &keys, output)?;
    rows(&db, records, &keys, output)?;
    table(records, &keys, output)
}

fn missing() -> ogive::Error {
    ogive::Error::input("a key is missing")
}

fn numbers(db: &Db, records: u64, keys: &[u64], output: &mut Output<'_>) -> Result<()> {
    let keyspace = db.keyspace("numbers")?;
    let typed = keyspace.typed::<u64, u64>()?;
    let mut batch = db.batch();
    for key in 0..records {
        batch.typed_insert(&typed, key, key * 3);
    }
    batch.commit()?;
    db.compact()?;
    let by_hand = |key: u64| {
        let found = keyspace.get(key.to_be_bytes())?.ok_or_else(missing)?;
        Ok(u64::from_be_bytes((*found).try_into().map_err(|_| missing())?))
    };
    compare("u64 -> u64", keys, &by_hand, &|key| typed.get(key)?.ok_or_else(missing)?.value(), output)
}

fn text(db: &Db, records: u64, keys: &[u64], output: &mut Output<'_>) -> Result<()> {
    let keyspace = db.keyspace("text")?;
    let typed = keyspace.typed::<u64, str>()?;
    let mut batch = db.batch();
    for key in 0..records {
        batch.typed_insert(&typed, key, format!("{key:050}").as_str());
    }
    batch.commit()?;
    db.compact()?;
    let by_hand = |key: u64| {
        let found = keyspace.get(key.to_be_bytes())?.ok_or_else(missing)?;
        Ok(std::str::from_utf8(&found).map_err(|_| missing())?.len() as u64)
    };
    let by_type = |key: u64| Ok(typed.get(key)?.ok_or_else(missing)?.value()?.len() as u64);
    compare("u64 -> text", keys, &by_hand, &by_type, output)
}

fn rows(db: &Db, records: u64, keys: &[u64], output: &mut Output<'_>) -> Result<()> {
    let keyspace = db.keyspace("rows")?;
    let typed = keyspace.typed::<u64, Order>()?;
    let mut batch = db.batch();
    for key in 0..records {
        let order = Order { item: format!("{key:020}"), amount: key, note: (key % 2 == 0).then(|| "even".to_owned()) };
        batch.typed_insert(&typed, key, order);
    }
    batch.commit()?;
    db.compact()?;
    let row_type = Order::row_type()?;
    let by_hand = |key: u64| {
        let found = keyspace.get(key.to_be_bytes())?.ok_or_else(missing)?;
        Ok(Row::new(row_type, &found)?.field(0)?.map_or(0, <[u8]>::len) as u64)
    };
    let by_type = |key: u64| {
        let found = typed.get(key)?.ok_or_else(missing)?;
        Ok(found.row()?.field(0)?.map_or(0, <[u8]>::len) as u64)
    };
    compare("u64 -> one field of a row", keys, &by_hand, &by_type, output)?;
    let by_hand = |key: u64| {
        let found = keyspace.get(key.to_be_bytes())?.ok_or_else(missing)?;
        let row = Row::new(row_type, &found)?;
        let text = |field| -> ogive::Result<Option<String>> {
            let bytes = row.field(field)?;
            Ok(bytes.map(|bytes| std::str::from_utf8(bytes).unwrap_or_default().to_owned()))
        };
        let amount = row.field(1)?.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?)));
        let order = Order { item: text(0)?.unwrap_or_default(), amount: amount.ok_or_else(missing)?, note: text(2)? };
        Ok(order.item.len() as u64 + order.amount + order.note.map_or(0, |note| note.len() as u64))
    };
    let by_type = |key: u64| {
        let order = typed.load(key)?.ok_or_else(missing)?;
        Ok(order.item.len() as u64 + order.amount + order.note.map_or(0, |note| note.len() as u64))
    };
    compare("u64 -> struct of a row", keys, &by_hand, &by_type, output)
}

fn table(records: u64, keys: &[u64], output: &mut Output<'_>) -> Result<()> {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = TypedTableWriter::<u64, u64>::create((storage.clone(), "numbers"), TableWriteOptions::default())?;
    for key in 0..records {
        writer.append(key, key * 3)?;
    }
    writer.finish()?;
    let table = Table::open((storage, "numbers"), &TableOptions::default())?;
    let typed = table.typed::<u64, u64>()?;
    let by_hand = |key: u64| {
        let found = table.get(&key.to_be_bytes())?.ok_or_else(missing)?;
        Ok(u64::from_be_bytes(found.as_slice().try_into().map_err(|_| missing())?))
    };
    compare("table, u64 -> u64", keys, &by_hand, &|key| typed.get(key)?.ok_or_else(missing)?.value(), output)
}

/// Runs rounds of both in turn, each first in every second round, and reports the median ratio.
fn compare(name: &str, keys: &[u64], untyped: Lookup<'_>, typed: Lookup<'_>, output: &mut Output<'_>) -> Result<()> {
    let round = |lookup: Lookup<'_>| -> Result<(f64, u64)> {
        let (watch, mut sum) = (Stopwatch::start(), 0_u64);
        for &key in keys {
            sum = sum.wrapping_add(black_box(lookup(black_box(key))?));
        }
        Ok((watch.elapsed().thread_s * 1e9 / keys.len() as f64, sum))
    };
    ensure!(round(untyped)?.1 == round(typed)?.1, "typed and untyped lookups find different values");
    let (mut untyped_ns, mut typed_ns, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..ROUNDS {
        let (plain, with_types) = if number % 2 == 0 {
            (round(untyped)?.0, round(typed)?.0)
        } else {
            let with_types = round(typed)?.0;
            (round(untyped)?.0, with_types)
        };
        untyped_ns.push(plain);
        typed_ns.push(with_types);
        ratios.push(with_types / plain);
    }
    let record = Record::new(TYPED.name).figure("lookup", name).figure("rounds", ROUNDS as u64);
    let record = record.spread("untyped_ns", &untyped_ns).spread("typed_ns", &typed_ns);
    output.report(record.spread("typed_over_untyped", &ratios))?;
    Ok(())
}
