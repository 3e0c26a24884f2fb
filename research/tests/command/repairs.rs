//! Repair of indexes whose entries cannot be told from their other pages.

use super::run::{Folder, sosd, uneven_keys};
use std::fs;

#[test]
fn indexes_whose_entries_cannot_be_told_from_other_pages_are_not_repaired() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(3000)));
    for kind in ["fiting", "lipp"] {
        folder.run(&["index", "create", kind, "--kind", kind, "--page-size", "512"]).exits_with(0);
        folder.run(&["index", "load", kind, "keys.u64"]).exits_with(0);
        let middle = fs::metadata(folder.path(kind)).unwrap().len() as usize / 2;
        let mut content = fs::read(folder.path(kind)).unwrap();
        (0..8).for_each(|page| content[middle + page * 512] ^= 1);
        folder.write(kind, content);
        folder.run(&["repair", kind]).exits_with(1).complains_of("cannot be told from its other pages");
    }
}
