//! A store: open a folder, write, read, scan, and open it again.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{Db, DbOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path(), &DbOptions::default())?;
    db.insert("apple", "red")?;
    db.insert("pear", "green")?;
    db.insert("plum", "blue")?;
    db.remove("pear")?;
    assert_eq!(db.get("apple")?.as_deref(), Some(&b"red"[..]));
    for entry in db.range("a".."q") {
        let (key, value) = entry?;
        println!("{} is {}", String::from_utf8_lossy(&key), String::from_utf8_lossy(&value));
    }
    db.close()?;

    let db = Db::open(folder.path(), &DbOptions::default())?;
    assert_eq!(db.iter().count(), 2);
    Ok(())
}
