//! Tests of transactions on typed keyspaces, multimaps and keyspaces with indexes. Goal: these are read and written as
//! outside of a transaction, and conflict alike. Method: small stores of each.

use crate::support::{is_conflict, small};
use ogive::io::MemoryStorage;
use ogive::typed::TypedRecord;
use ogive::types::{Alteration, KeyType};
use ogive::{Cause, Db, Error, Result};
use std::sync::Arc;

ogive::row! {
    #[derive(Clone, Debug, PartialEq)]
    struct Order { item: String, amount: u32 }
}

fn store() -> Db {
    Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap()
}

#[test]
fn typed_keyspaces_are_read_and_written() {
    let db = store();
    let orders = db.keyspace("orders").unwrap().typed::<(u32, u32), Order>().unwrap();
    let order = |amount| Order { item: "fig".into(), amount };
    orders.insert((1, 1), order(1)).unwrap();
    orders.insert((1, 2), order(2)).unwrap();
    orders.insert((2, 1), order(3)).unwrap();
    let tx = db.begin();
    let within = tx.typed(&orders);
    within.insert((1, 3), order(4)).unwrap();
    within.remove((1, 1)).unwrap();
    let amounts = |rows: Vec<Result<TypedRecord<(u32, u32), Order>>>| -> Vec<u32> {
        rows.into_iter().map(|row| row.unwrap().1.value().unwrap().amount).collect()
    };
    assert_eq!(amounts(within.prefix((1,)).collect()), [2, 4]);
    assert_eq!(amounts(within.range(..).rev().collect()), [3, 4, 2]);
    assert_eq!(within.load((1, 3)).unwrap(), Some(order(4)));
    assert!(!within.contains_key((1, 1)).unwrap());
    let many = within.multi_get([(1, 1), (2, 1)]).unwrap();
    assert_eq!(many.into_iter().flatten().count(), 1);
    orders.insert((1, 9), order(9)).unwrap();
    assert!(is_conflict(tx.commit()), "the prefix was read to its end");
}

#[test]
fn multimaps_and_indexes_are_changed_together() {
    let db = store();
    let tags = db.multimap::<u64, str>("tags").unwrap();
    let orders = db.keyspace("orders").unwrap().typed::<u64, Order>().unwrap();
    let orders = orders.with_index("by_item", |_, order| Some(order.item.clone())).unwrap();
    orders.insert(1, Order { item: "fig".into(), amount: 3 }).unwrap();
    orders.insert(3, Order { item: "fig".into(), amount: 3 }).unwrap();
    db.transaction(|tx| {
        tx.multimap_insert(&tags, 1, "sweet")?;
        tx.multimap_insert(&tags, 1, "old")?;
        tx.multimap_remove(&tags, 1, "old")?;
        assert_eq!(tx.multimap_get(&tags, 1).count(), 1);
        let before = tx.indexed_get(&orders, 1)?.map(|order| order.value()).transpose()?;
        assert_eq!(before.map(|order| order.amount), Some(3));
        tx.indexed_insert(&orders, 1, Order { item: "lime".into(), amount: 4 })?;
        tx.indexed_insert(&orders, 2, Order { item: "lime".into(), amount: 5 })?;
        tx.indexed_remove(&orders, 3)?;
        Ok::<_, Error>(())
    })
    .unwrap();
    let by_item = orders.by::<str>("by_item").unwrap();
    let keys = |item: &str| by_item.keys(item).map(|key| key.unwrap().value().unwrap()).collect::<Vec<u64>>();
    assert_eq!((keys("fig"), keys("lime")), (vec![], vec![1, 2]));
    assert_eq!(tags.get(1).count(), 1);

    let tx = db.begin();
    tx.indexed_insert(&orders, 1, Order { item: "fig".into(), amount: 1 }).unwrap();
    orders.insert(1, Order { item: "pear".into(), amount: 1 }).unwrap();
    assert!(is_conflict(tx.commit()), "the old row was read to find its entries");
    assert_eq!((keys("fig"), keys("pear")), (vec![], vec![1]));
    let tx = db.begin();
    assert_eq!(tx.multimap_get(&tags, 1).rev().count(), 1);
    tx.insert(&db, "x", "1").unwrap();
    tags.insert(1, "fruit").unwrap();
    assert!(is_conflict(tx.commit()));
}

#[test]
fn an_altered_keyspace_is_a_conflict() {
    for is_read in [true, false] {
        let db = store();
        let orders = db.keyspace("orders").unwrap().typed::<u64, Order>().unwrap();
        orders.insert(1, Order { item: "fig".into(), amount: 1 }).unwrap();
        let tx = db.begin();
        let untyped = db.keyspace("orders").unwrap();
        if is_read {
            tx.typed(&orders).get(1).unwrap();
            tx.insert(&db, "x", "1").unwrap();
        } else {
            let row = untyped.get(1_u64.to_be_bytes()).unwrap().unwrap();
            tx.insert(&untyped, 2_u64.to_be_bytes(), row).unwrap();
        }
        untyped.alter(&Alteration::new().widen("amount", KeyType::U64)).unwrap();
        let error = tx.commit().unwrap_err();
        assert_eq!((error.cause, error.name()), (Cause::Conflict, "orders"));
    }
}
