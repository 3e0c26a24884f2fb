//! The cost of calls of the engine, for comparisons of two revisions of it.
//!
//! `cargo xtask gate REVISION` compiles this program against the engine of that revision and against the working tree,
//! and runs both in turn. So it calls only what both have.
//!
//! ```text
//! ogive-gate list                      names of all calls
//! ogive-gate prepare FOLDER            the tables and the store that they read
//! ogive-gate run NAME FOLDER           processor time of one call in nanoseconds
//! ogive-gate count NAME FOLDER         makes 1/50 of the calls, for a tool that counts what `measured_work` does
//! ```

mod calls;
mod data;
mod measure;

use std::error::Error;
use std::path::Path;

const USAGE: &str = "usage: ogive-gate list | prepare FOLDER | run NAME FOLDER | count NAME FOLDER";
/// With a tool that counts instructions a program takes some 30 times as long.
const COUNTED_DIVISOR: u64 = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match *words.iter().map(String::as_str).collect::<Vec<_>>() {
        ["list"] => calls::CALLS.iter().for_each(|call| println!("{}", call.name)),
        ["prepare", folder] => data::prepare(Path::new(folder), data::RECORDS)?,
        ["run", name, folder] => println!("{:.1}", run(name, folder, 1)?),
        ["count", name, folder] => {
            measure::set_counted();
            run(name, folder, COUNTED_DIVISOR)?;
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

fn run(name: &str, folder: &str, divisor: u64) -> Result<f64, Box<dyn Error>> {
    let call = calls::CALLS.iter().find(|call| call.name == name);
    let call = call.ok_or_else(|| format!("no call is named {name:?}; `ogive-gate list` names all"))?;
    Ok(call.cost_ns(Path::new(folder), call.count / divisor)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_finds_its_data() {
        let folder = tempfile::tempdir().unwrap();
        data::prepare(folder.path(), 2_000).unwrap();
        for call in calls::CALLS {
            assert!(call.cost_ns(folder.path(), 100).unwrap() > 0.0, "{}", call.name);
        }
    }
}
