//! Keys and values as Rust types: a typed keyspace of rows, tuples as keys, a secondary index, a multimap, a table.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::typed::{Desc, TypedTableWriter};
use ogive::{Db, DbOptions, LocalStorage, Table, TableOptions, TableWriteOptions};
use std::sync::Arc;

ogive::row! {
    /// An order; `note` was added last, so older orders have none.
    #[derive(Clone, Debug, PartialEq)]
    struct Order {
        customer: String,
        amount: f64,
        note: Option<String>,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path().join("store"), &DbOptions::default())?;

    // The index changes with the records, in the same batch.
    let orders = db.keyspace("orders")?.typed::<u64, Order>()?;
    let orders = orders.with_index("by_customer", |_, order| Some(order.customer.clone()))?;
    for (id, customer, amount) in [(1, "ann", 12.5), (2, "bob", 3.0), (3, "ann", 7.25)] {
        orders.insert(id, Order { customer: customer.into(), amount, note: None })?;
    }
    assert_eq!(orders.load(2)?.map(|order| order.amount), Some(3.0));
    for record in orders.by::<str>("by_customer")?.get("ann") {
        let (id, order) = record?;
        println!("order {} of ann: {}", id.value()?, order.value()?.amount);
    }

    // Tuples order by component; here the newest visit of each customer comes first. `()` stores no value.
    let visits = db.keyspace("visits")?.typed::<(&str, Desc<u32>), ()>()?;
    for day in [20_001, 20_005, 20_003] {
        visits.insert(("ann", Desc(day)), ())?;
    }
    let (newest, _) = visits.prefix(("ann",)).next().transpose()?.ok_or("there are three")?;
    let (customer, Desc(day)) = newest.value()?;
    println!("{customer} came last on day {day}");
    assert_eq!(day, 20_005);

    // Several values a key.
    let tags = db.multimap::<u64, str>("tags")?;
    tags.insert(1, "paid")?;
    tags.insert(1, "express")?;
    let found: Vec<String> = tags.get(1).map(|tag| Ok(tag?.value()?.into_owned())).collect::<ogive::Result<_>>()?;
    assert_eq!(found, ["express", "paid"]);

    // Tables have the same types, and refuse others by name.
    let storage = Arc::new(LocalStorage::new(folder.path()));
    let mut writer = TypedTableWriter::<i64, str>::create((storage.clone(), "years"), TableWriteOptions::default())?;
    writer.append(-300, "Euclid")?;
    writer.append(1815, "Ada")?;
    writer.finish()?;
    let years = Table::open((storage, "years"), &TableOptions::default())?;
    println!("{}", years.typed::<u64, str>().err().ok_or("the keys are signed")?);
    let (year, name) = years.typed::<i64, str>()?.first()?.ok_or("there are two")?;
    println!("{} was born about {}", name.value()?, year.value()?);
    Ok(())
}
