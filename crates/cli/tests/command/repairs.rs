//! Repair of damaged tables and indexes into new files, and what points to it. Method: whole runs on files in which
//! bytes are flipped, and on files that cannot be repaired.

use super::run::{Folder, Run, sosd, uneven_keys};
use serde_json::json;
use std::fs;

/// Flips a byte of a file.
fn damage(folder: &Folder, name: &str, at: usize) -> Vec<u8> {
    let mut content = fs::read(folder.path(name)).unwrap();
    content[at] ^= 1;
    folder.write(name, &content);
    content
}

fn lines(run: Run) -> Vec<String> {
    run.exits_with(0).stdout.lines().map(str::to_owned).collect()
}

#[test]
fn the_undamaged_blocks_of_a_table_are_saved_and_the_lost_range_is_named() {
    let folder = Folder::new();
    let words: Vec<String> = (0..3000).map(|i| format!("word{i:04}")).collect();
    folder.write("words.txt", words.join("\n"));
    folder.build("words.txt", "words.ogive", &["--block-size", "512", "--no-coding"]);
    let sound = folder.run(&["repair", "words.ogive"]).exits_with(0);
    sound.prints("words.ogive: sound; nothing to repair\n");
    assert_eq!(folder.names(), ["words.ogive", "words.txt"]);
    let damaged = damage(&folder, "words.ogive", 512 * 7 + 100);
    let scan = folder.run(&["scan", "words.ogive"]).exits_with(1);
    scan.complains_of("`ogive verify words.ogive`").complains_of("`ogive repair words.ogive`");
    folder.run(&["verify", "words.ogive"]).exits_with(1).complains_of("`ogive repair words.ogive`");
    let said = folder.run(&["repair", "words.ogive"]).exits_with(0);
    let saved = lines(folder.run(&["scan", "words.repaired.ogive"]));
    let kept = |word: &String| saved.iter().any(|line| line.trim_end() == word);
    let lost: Vec<usize> = (0..words.len()).filter(|&i| !kept(&words[i])).collect();
    assert!(!lost.is_empty() && lost.len() < 300 && saved.len() + lost.len() == 3000, "{lost:?}");
    let (before, after) = (&words[lost[0] - 1], &words[lost[lost.len() - 1] + 1]);
    let count = format!("2,{}", saved.len() - 2000);
    said.prints(&format!(
        "words.ogive: {count} records saved in words.repaired.ogive, {0} lost\n\
         lost between '{before}' and '{after}': {0} records\n",
        lost.len()
    ));
    assert_eq!(fs::read(folder.path("words.ogive")).unwrap(), damaged);
    folder.run(&["verify", "words.repaired.ogive"]).exits_with(0);
    // Neither the damaged nor any other file is replaced.
    folder.run(&["repair", "words.ogive"]).exits_with(1).complains_of("words.repaired.ogive");
    folder.run(&["repair", "words.ogive", "-o", "words.ogive"]).exits_with(1).complains_of("input of this command");
    fs::create_dir(folder.path("new")).unwrap();
    let report = folder.run(&["repair", "words.ogive", "-o", "new/w.ogive", "--json"]).exits_with(0).json();
    assert_eq!((&report["lost_records"], &report["key_type"]), (&json!(lost.len()), &json!("text")));
    let range = json!({ "after": before, "before": after, "records": lost.len(), "is_exact": true });
    assert_eq!(report["lost_ranges"], json!([range]));
    assert_eq!(lines(folder.run(&["scan", "new/w.ogive"])), saved);
}

#[test]
fn the_intact_leaves_of_an_index_are_saved_and_every_hint_leads_there() {
    let folder = Folder::new();
    let keys = uneven_keys(2000);
    folder.write("keys.u64", sosd(&keys));
    folder.run(&["index", "create", "i.ogx", "--page-size", "512"]).exits_with(0);
    folder.run(&["index", "load", "i.ogx", "keys.u64"]).exits_with(0);
    folder.run(&["repair", "i.ogx"]).exits_with(0).prints("i.ogx: sound; nothing to repair\n");
    let middle = fs::metadata(folder.path("i.ogx")).unwrap().len() as usize / 2;
    let damaged = damage(&folder, "i.ogx", middle);
    for command in [&["scan", "i.ogx"][..], &["stats", "i.ogx"]] {
        folder.run(command).exits_with(1).complains_of("`ogive verify i.ogx`").complains_of("`ogive repair i.ogx`");
    }
    folder.run(&["verify", "i.ogx"]).exits_with(1).complains_of("`ogive repair i.ogx`");
    folder.run(&["repair", "--in-place", "i.ogx"]).exits_with(1).complains_of("`ogive repair i.ogx`");
    let report = folder.run(&["repair", "i.ogx", "-o", "saved.ogx", "--json"]).exits_with(0).json();
    let saved: Vec<u64> = lines(folder.run(&["scan", "saved.ogx"]))
        .iter()
        .map(|line| line.split('\t').next().unwrap().parse().unwrap())
        .collect();
    let lost: Vec<u64> = keys.iter().copied().filter(|key| !saved.contains(key)).collect();
    assert!(!lost.is_empty() && saved.iter().all(|key| keys.contains(key)));
    assert_eq!((&report["saved_records"], &report["lost_records"]), (&json!(saved.len()), &json!(lost.len())));
    let range = &report["lost_ranges"][0];
    assert!(range["after"].as_u64().unwrap() < lost[0] && range["before"].as_u64().unwrap() > lost[lost.len() - 1]);
    assert_eq!(fs::read(folder.path("i.ogx")).unwrap(), damaged);
    folder.run(&["verify", "saved.ogx"]).exits_with(0);
    assert!(!folder.names().iter().any(|name| name.contains("tmp")), "{:?}", folder.names());
}

#[test]
fn files_that_cannot_be_repaired_are_told_from_those_that_can() {
    let folder = Folder::new();
    folder.write("words.txt", "one\ntwo\nthree\n");
    folder.build("words.txt", "words.ogive", &[]);
    let whole = fs::read(folder.path("words.ogive")).unwrap();
    folder.write("cut.ogive", &whole[..whole.len() - 100]);
    folder.run(&["repair", "cut.ogive"]).exits_with(1).complains_of("cut off before its tail");
    folder.write("tail.ogive", &whole);
    damage(&folder, "tail.ogive", whole.len() - 40);
    folder.run(&["repair", "tail.ogive"]).exits_with(1).complains_of("its tail");
    folder
        .run(&["repair", "words.txt"])
        .exits_with(1)
        .complains_of("words.txt is lines of text, an input, not a table");
    folder.run(&["repair", "nowhere"]).exits_with(1).complains_of("nowhere");
    folder.run(&["db", "put", "store", "1", "x"]).exits_with(0);
    folder.run(&["repair", "store"]).exits_with(0).prints("store: nothing to repair\n");
    folder.run(&["repair", "store", "-o", "new"]).exits_with(2).complains_of("in its folder");
    let name = fs::read_dir(folder.path("store")).unwrap().map(|entry| entry.unwrap().file_name()).next().unwrap();
    let file = format!("store/{}", name.to_str().unwrap());
    folder.run(&["repair", &file]).exits_with(1).complains_of("`ogive repair store`");
    assert!(!folder.names().iter().any(|name| name.contains("repaired")), "{:?}", folder.names());
}
