//! External indexes: every answer is right, and a change of the data is noticed. Method: SOSD files, wider records, and
//! tables, with indexes built in the same folder.

use super::run::{Folder, sosd, uneven_keys};

#[test]
fn a_file_is_indexed_where_it_lies() {
    let folder = Folder::new();
    let keys = uneven_keys(40_000);
    let path = folder.write("keys.u64", sosd(&keys));
    let before = std::fs::read(&path).unwrap();
    folder.build("keys.u64", "keys.ogive", &["--external"]);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(std::fs::metadata(folder.path("keys.ogive")).unwrap().len() < 40_000);
    folder.run(&["get", "keys.ogive", &keys[4321].to_string()]).exits_with(0);
    folder.run(&["get", "keys.ogive", &(keys[4321] + 1).to_string()]).exits_with(1);
    folder.run(&["verify", "keys.ogive"]).exits_with(0);
    let mut changed = before;
    changed[8 * 1000] ^= 1;
    std::fs::write(&path, changed).unwrap();
    folder.run(&["verify", "keys.ogive"]).exits_with(1).complains_of("changed");
    folder.run(&["get", "keys.ogive", "0"]).exits_with(1).complains_of("changed");
}

#[test]
fn an_index_without_its_data_says_what_it_is_an_index_of() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(100)));
    folder.build("keys.u64", "keys.ogive", &["--external"]);
    std::fs::rename(folder.path("keys.u64"), folder.path("away")).unwrap();
    for line in [
        &["info", "keys.ogive"][..],
        &["get", "keys.ogive", "0"],
        &["verify", "keys.ogive"],
        &["repair", "keys.ogive"],
        &["stats", "keys.ogive"],
        &["report", "keys.ogive", "-o", "r.html"],
        &["build", "keys.ogive", "-o", "x.ogive"],
        &["join", "keys.ogive", "keys.ogive", "-o", "-"],
    ] {
        let run = folder.run(line).exits_with(1);
        run.complains_of("keys.ogive is an index of the data in keys.u64, and that is not there");
    }
    folder.run(&["info", "absent"]).exits_with(1).keeps_quiet_about("an index of");
}

#[test]
fn options_that_an_external_index_does_not_take_are_refused() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(100)));
    for flags in [
        &["--key-type", "i64"][..],
        &["--key-type", "text"],
        &["--type", "a=u8"],
        &["--keys-only"],
        &["--no-header"],
        &["--delimiter", ";"],
        &["--quote", "\""],
        &["--lenient"],
    ] {
        let build = [&["build", "keys.u64", "-o", "keys.ogive", "--external"], flags].concat();
        folder.run(&build).exits_with(2).complains_of(flags[0]);
        assert!(!folder.path("keys.ogive").exists());
    }
}

#[cfg(feature = "parquet")]
#[test]
fn the_keys_of_an_index_beside_parquet_have_the_type_of_their_column() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n1,a\n2,b\n");
    folder.build("rows.csv", "rows.ogive", &[]);
    folder.run(&["export", "rows.ogive", "rows.parquet"]).exits_with(0);
    let build = ["build", "rows.parquet", "-o", "rows.idx", "--external", "--key", "id", "--key-type", "text"];
    folder.run(&build).exits_with(2).complains_of("--key-type").complains_of("have the type that they have");
}

#[test]
fn records_may_carry_values_and_a_header_of_any_length() {
    let folder = Folder::new();
    let keys = uneven_keys(10_000);
    let mut content = b"header!".to_vec();
    for key in &keys {
        content.extend_from_slice(&key.to_be_bytes());
        content.extend_from_slice(format!("{key:012}").as_bytes());
    }
    folder.write("records.bin", content);
    let flags = ["--external", "--record-size", "20", "--header-size", "7", "--big-endian"];
    folder.build("records.bin", "records.ogive", &flags);
    folder
        .run(&["get", "records.ogive", &keys[4321].to_string()])
        .exits_with(0)
        .prints(&format!("{:012}\n", keys[4321]));
    folder.run(&["rank", "records.ogive", &keys[4321].to_string()]).exits_with(0).prints("4321\n");
    folder.run(&["build", "records.bin", "-o", "x.ogive", "--external", "--record-size", "4"]).exits_with(2);
    folder.run(&["build", "records.bin", "-o", "x.ogive", "--external", "--record-size", "24"]).exits_with(1);
    assert_eq!(folder.names(), ["records.bin", "records.ogive"]);
}

#[test]
fn a_table_gets_a_second_index_for_another_storage() {
    let folder = Folder::new();
    let lines: String = (0..20_000).map(|number| format!("line {number:05}\n")).collect();
    folder.write("lines.txt", lines);
    folder.build("lines.txt", "lines.ogive", &[]);
    let before = std::fs::read(folder.path("lines.ogive")).unwrap();
    folder.build("lines.ogive", "lines-s3.ogive", &["--external", "--for", "s3"]);
    assert_eq!(std::fs::read(folder.path("lines.ogive")).unwrap(), before);
    let report = folder.run(&["explain", "lines-s3.ogive", "--json"]).exits_with(0).json();
    assert_eq!(report["tuned_for"], "s3");
    for table in ["lines.ogive", "lines-s3.ogive"] {
        folder.run(&["nth", table, "12345"]).exits_with(0).prints("line 12345\t\n");
        folder.run(&["verify", table]).exits_with(0);
    }
}

#[test]
fn an_index_lies_in_the_folder_of_its_data() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&[1, 2, 3]));
    std::fs::create_dir(folder.path("other")).unwrap();
    folder.run(&["build", "keys.u64", "-o", "other/t.ogive", "--external"]).exits_with(2).complains_of("folder");
    folder.build("other/../keys.u64", "t.ogive", &["--external"]);
    folder.write("unsorted.u64", sosd(&[2, 1]));
    folder.run(&["build", "unsorted.u64", "-o", "u.ogive", "--external"]).exits_with(1).complains_of("order");
    folder.run(&["build", "keys.u64", "-o", "keys.u64", "--external"]).exits_with_error();
    assert_eq!(folder.names(), ["keys.u64", "other", "t.ogive", "unsorted.u64"]);
}
