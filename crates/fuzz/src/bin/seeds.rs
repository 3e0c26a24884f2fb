//! Writes the valid inputs of every fuzz target to `FOLDER/TARGET/seed-N`, where libFuzzer begins: `seeds FOLDER`.

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1) else {
        return Err(std::io::Error::other("usage: seeds FOLDER"));
    };
    for target in ogive_fuzz::TARGETS {
        let folder = Path::new(&folder).join(target.name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
