//! Scans: ranges, prefixes, both directions, and the first and last key.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{Db, DbOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path(), &DbOptions::default())?;
    for day in 1..=30 {
        for sensor in ["door", "roof"] {
            db.insert(format!("{sensor}/2026-11-{day:02}"), format!("{}", day * 3 % 17))?;
        }
    }

    let week: Vec<_> = db.range("door/2026-11-08".."door/2026-11-15").collect::<Result<_, _>>()?;
    let newest = db.prefix("roof/").next_back().transpose()?;
    let last_three: Vec<_> = db.prefix("door/").rev().take(3).collect::<Result<_, _>>()?;
    println!("{} days, newest {newest:?}, last three {last_three:?}", week.len());
    assert_eq!((week.len(), last_three.len()), (7, 3));
    assert!(newest.is_some_and(|(key, _)| *key == *b"roof/2026-11-30"));
    Ok(())
}
