//! Keys of several components: readings of sensors, the newest of each first.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::types::{KeyType, Value};
use ogive::{Db, DbOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path(), &DbOptions::default())?;
    let keys: KeyType = "(text, timestamp(s) desc)".parse()?;
    for hour in 0..24 {
        for sensor in ["door", "doorbell", "roof"] {
            let time = 1_790_000_000 + hour * 3600;
            let key = Value::Tuple(vec![Value::Text(sensor.into()), Value::Signed(time)]);
            db.insert(keys.encode(&key)?, hour.to_string())?;
        }
    }

    // All keys with these first components, and no others, begin with these bytes.
    let door = keys.encode_prefix(&[Value::Text("door".into())])?;
    let newest: Vec<_> = db.prefix(&door).take(2).collect::<Result<_, _>>()?;
    for (key, reading) in &newest {
        println!("{}: {}", keys.display(key), String::from_utf8_lossy(reading));
    }
    assert_eq!(db.prefix(&door).count(), 24);
    assert_eq!(keys.display(&newest[0].0), "door,2026-09-22T13:13:20");
    assert_eq!(*newest[1].1, *b"22");
    Ok(())
}
