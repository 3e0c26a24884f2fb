//! Values larger than memory: written from a reader, read as a stream.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{Db, DbOptions};
use std::io::{self, Read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let options = DbOptions::default().memory_bytes(8 << 20);
    let db = Db::open(folder.path(), &options)?;

    let mut video = io::repeat(7).take(32 << 20);
    db.insert_stream("video", &mut video)?;

    let mut stream = db.get_stream("video")?.ok_or("not found")?;
    let copied = io::copy(&mut stream, &mut io::sink())?;
    println!("{copied} bytes within {} bytes of memory", options.memory_bytes);
    assert_eq!(copied, 32 << 20);
    Ok(())
}
