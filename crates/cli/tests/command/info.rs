//! Kinds of paths. Method: one of each kind, damaged ones, and files of others.

use super::run::Folder;
use ogive::block::checksum;
use serde_json::json;

#[test]
fn every_kind_of_file_is_recognised() {
    let folder = Folder::new();
    folder.write("fruit.csv", "name,colour\napple,red\nbanana,yellow\n");
    folder.write("keys.u64", [2_u64, 5, 9].map(u64::to_le_bytes).concat());
    folder.build("fruit.csv", "fruit.ogive", &["--value", "colour"]);
    folder.build("keys.u64", "keys.ogive", &["--external"]);
    folder.run(&["index", "create", "days.ogx", "--key-type", "date"]).exits_with(0);
    folder.run(&["index", "put", "days.ogx", "2024-02-29", ""]).exits_with(0);
    folder.run(&["db", "put", "s", "key", "value"]).exits_with(0);
    folder.run(&["join", "fruit.ogive", "fruit.ogive", "-o", "both.ogive"]).exits_with(0);
    std::fs::create_dir(folder.path("empty")).unwrap();
    let info = |path: &str| folder.run(&["info", path, "--json"]).exits_with(0).json();
    assert_eq!((&info("fruit.ogive")["kind"], &info("fruit.ogive")["records"]), (&json!("table"), &json!(2)));
    assert_eq!(info("both.ogive")["key_type"], json!("text"));
    assert_eq!(info("keys.ogive")["kind"], json!("external index"));
    let index = info("days.ogx");
    assert_eq!((&index["kind"], &index["key_type"], &index["entries"]), (&json!("index"), &json!("date"), &json!(1)));
    let store = info("s");
    assert_eq!(store["kind"], json!("store"));
    let default = json!({ "name": "default", "key_type": "bytes", "value_type": "bytes", "rows": 1, "is_exact": true });
    assert_eq!(store["keyspaces"], json!([default]));
    for (path, kind) in [("fruit.csv", "comma-separated values"), ("keys.u64", "SOSD"), ("empty", "without a store")] {
        let run = folder.run(&["info", path]).exits_with(1);
        assert!(run.stdout.contains(kind), "{path}: {}", run.stdout);
    }
    let profile = r#"{"ogive_profile":1,"name":"mine","parallel":4,"latency_us":90.0,"bandwidth_mb_per_s":2000.0}"#;
    folder.write("mine.json", profile);
    assert_eq!(info("mine.json")["name"], json!("mine"));
    folder.run(&["info", "absent"]).exits_with(1).complains_of("absent");
    let manifest = std::fs::read_dir(folder.path("s")).unwrap().map(|entry| entry.unwrap().path());
    let manifest = manifest.into_iter().find(|path| path.extension().is_some_and(|end| end == "manifest")).unwrap();
    assert_eq!(info(manifest.to_str().unwrap())["kind"], json!("store file"));
}

#[test]
fn a_folder_of_backups_is_told_from_one_without_a_store() {
    let folder = Folder::new();
    folder.run(&["db", "put", "s", "key", "value"]).exits_with(0);
    folder.run(&["db", "backup", "s", "my backups"]).exits_with(0);
    let told = folder.run(&["info", "my backups"]).exits_with(0).stdout;
    assert!(told.contains("a folder with 1 backup of a store"), "{told}");
    assert!(told.contains("`ogive db backups 'my backups'`"), "{told}");
    assert!(told.contains("`ogive db restore 'my backups' STORE`"), "{told}");
    let told = folder.run(&["info", "my backups", "--json"]).exits_with(0).json();
    assert_eq!((&told["kind"], &told["backups"]), (&json!("backups"), &json!([1])));
    let told = folder.run(&["info", "my backups/000001.backup", "--json"]).exits_with(0).json();
    assert_eq!(told["kind"], json!("backup"));
}

#[test]
fn a_damaged_table_is_an_error_and_not_a_stranger() {
    let folder = Folder::new();
    folder.write("fruit.txt", "apple\nbanana\n");
    folder.build("fruit.txt", "fruit.ogive", &[]);
    let mut content = std::fs::read(folder.path("fruit.ogive")).unwrap();
    let at = content.len() - 60;
    content[at] ^= 1;
    folder.write("fruit.ogive", content);
    folder.run(&["info", "fruit.ogive"]).exits_with(1).complains_of("fruit.ogive").complains_of("ogive verify");
}

/// Size of one of the two headers of a page file, and where a header has the code of its kind.
const SLOT_BYTES: usize = 4096;
const KIND_OFFSET: usize = 320 + 6;
const ALEX_CODE: u8 = 6;

#[test]
fn an_index_of_a_kind_of_papers_is_told_with_the_program_that_opens_it() {
    let folder = Folder::new();
    folder.run(&["index", "create", "i.ogx"]).exits_with(0);
    let mut file = std::fs::read(folder.path("i.ogx")).unwrap();
    let file_id = u64::from_le_bytes(file[16..24].try_into().unwrap());
    for slot in [0, SLOT_BYTES] {
        let header = &mut file[slot..slot + SLOT_BYTES];
        header[KIND_OFFSET] = ALEX_CODE;
        checksum::seal(file_id, slot as u64, header);
    }
    folder.write("i.ogx", &file);
    let told = folder.run(&["info", "i.ogx", "--json"]).exits_with(0).json();
    assert_eq!((&told["kind"], &told["structure"]), (&json!("index"), &json!("alex")));
    assert_eq!(told["file_bytes"], json!(file.len()));
    folder.run(&["stats", "i.ogx"]).exits_with(1).complains_of("kind 'alex'").complains_of("`ogive-research`");
}
