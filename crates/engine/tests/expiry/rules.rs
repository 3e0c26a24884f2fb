//! Rules by which the records of a keyspace expire: recorded, changed on an open store, by the write or by a field.

use crate::support::{DAY, HOUR, MINUTE, START, at, format_of, small, store};
use ogive::lsm::{EXPIRING_FORMAT, ExpiryRule};
use ogive::types::{KeyType, RecordType, Value, ValueType};
use ogive::{Cause, Db};
use std::time::Duration;

#[test]
fn records_expire_by_the_rule_of_their_keyspace_from_then_on() {
    let (clock, db, storage) = store();
    let sessions = db.keyspace("sessions").unwrap();
    sessions.insert("before", "1").unwrap();
    sessions.expire_after(Some(Duration::from_secs(3600))).unwrap();
    assert_eq!(format_of(&storage), EXPIRING_FORMAT);
    sessions.insert("after", "1").unwrap();
    sessions.insert_stream("stream", &mut &[7; 300][..]).unwrap();
    sessions.insert_with("longer", "1", at(START + DAY)).unwrap();
    let mut batch = db.batch();
    batch.insert(&sessions, "in a batch", "1").insert(&db, "of another keyspace", "1");
    batch.commit().unwrap();
    db.transaction(|transaction| transaction.insert(&sessions, "in a transaction", "1")).unwrap();
    assert!(sessions.insert_if_absent("if absent", "1").unwrap().is_done());
    clock.pass(HOUR - 1);
    assert_eq!(sessions.iter().count(), 7);
    clock.pass(1);
    let keys = |db: &Db| -> Vec<String> {
        let keys = db.keyspace("sessions").unwrap().iter().keys();
        keys.map(|key| String::from_utf8(key.unwrap().to_vec()).unwrap()).collect()
    };
    assert_eq!((keys(&db), db.iter().count()), (vec!["before".to_owned(), "longer".to_owned()], 1));
    db.close().unwrap();

    let db = Db::open(storage.clone(), &small(&clock)).unwrap();
    let sessions = db.keyspace("sessions").unwrap();
    assert_eq!(sessions.expiry(), Some(ExpiryRule::After(Duration::from_secs(3600))));
    sessions.insert("reopened", "1").unwrap();
    sessions.expire_after(Some(Duration::from_secs(60))).unwrap();
    sessions.insert("shorter", "1").unwrap();
    sessions.expire_after(None).unwrap();
    sessions.insert("for ever", "1").unwrap();
    clock.pass(30 * MINUTE);
    assert_eq!(keys(&db), ["before", "for ever", "longer", "reopened"]);
    db.close().unwrap();
    let db = Db::open(storage, &small(&clock)).unwrap();
    assert_eq!(db.keyspace("sessions").unwrap().expiry(), None);
}

#[test]
fn rows_expire_at_the_time_in_their_field() {
    let (clock, db, _) = store();
    let values: ValueType = "{name: text, due: timestamp(s)?}".parse().unwrap();
    let row = |name: &str, due: Value| values.encode(&Value::Tuple(vec![Value::Text(name.to_owned()), due])).unwrap();
    let orders = db.keyspace("orders").unwrap();
    assert_eq!(orders.expire_at_field("due").unwrap_err().cause, Cause::Input);
    drop(orders.declare(&RecordType::new(KeyType::U64, values.clone())).unwrap());
    let refused = orders.expire_at_field("name").unwrap_err();
    assert!(refused.to_string().contains("\"name\" is no timestamp"), "{refused}");
    orders.expire_at_field("due").unwrap();
    let due = |ms: u64| Value::Signed(i128::from(ms / 1000));
    let rows = [("soon", due(START + HOUR)), ("later", due(START + 9000 * DAY)), ("never", Value::Null)];
    for (number, (name, due)) in (1_u64..).zip(rows) {
        orders.insert(number.to_be_bytes(), row(name, due)).unwrap();
    }
    orders.insert_stream(4_u64.to_be_bytes(), &mut &row("streamed", due(START + HOUR))[..]).unwrap();
    assert_eq!(orders.insert(5_u64.to_be_bytes(), "no row").unwrap_err().cause, Cause::Input);
    assert_eq!(orders.iter().count(), 4);
    clock.pass(HOUR);
    assert_eq!(orders.iter().count(), 2);
    // A transaction sees its own rows as others will.
    let tx = db.begin();
    tx.insert(&orders, 6_u64.to_be_bytes(), row("past", due(START))).unwrap();
    tx.insert(&orders, 7_u64.to_be_bytes(), row("later", due(START + DAY))).unwrap();
    assert!(tx.get(&orders, 6_u64.to_be_bytes()).unwrap().is_none());
    assert!(tx.get(&orders, 7_u64.to_be_bytes()).unwrap().is_some());
    tx.commit().unwrap();
    assert_eq!(orders.iter().count(), 3);
}
