//! Rows and keyspaces of a store: counted exactly or estimated, listed, dropped, and without those of the command
//! itself. Method: whole runs.

use super::run::{Folder, Run, grouped};
use serde_json::json;

fn db(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&grouped("db", arguments))
}

/// A store whose keyspace `default` has 100 text keys and `ids` 10 integers.
fn store() -> Folder {
    let folder = Folder::new();
    folder.write("words.txt", (0..100).map(|number| format!("word{number:02}\n")).collect::<String>());
    folder.write("ids.txt", (1..=10).map(|number| format!("{number}\n")).collect::<String>());
    db(&folder, &["import", "s", "words.txt"]).exits_with(0);
    db(&folder, &["import", "s", "ids.txt", "--keyspace", "ids", "--key-type", "u64"]).exits_with(0);
    folder
}

#[test]
fn all_entries_are_counted_without_reading_them_where_tables_state_their_number() {
    let folder = Folder::new();
    let rows: String = (0..5000).map(|number| format!("{number},value {number}\n")).collect();
    folder.write("rows.csv", format!("k,v\n{rows}"));
    folder.run(&["db", "import", "s", "rows.csv"]).exits_with(0);
    folder.run(&["db", "delete", "s", "7"]).exits_with(0);
    folder.run(&["count", "s"]).exits_with(0).prints("4999\n");
    folder.run(&["db", "compact", "s"]).exits_with(0);
    // Nothing is read of a damaged table, so the damage is not met.
    let tables = std::fs::read_dir(folder.path("s")).unwrap().map(|entry| entry.unwrap().path());
    for table in tables.filter(|path| path.extension().is_some_and(|extension| extension == "table")) {
        let mut bytes = std::fs::read(&table).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle / 2..middle].fill(0x55);
        std::fs::write(&table, bytes).unwrap();
    }
    folder.run(&["count", "s", "--from", "0"]).exits_with(1).complains_of("damaged");
    folder.run(&["count", "s"]).exits_with(0).prints("4999\n");
    folder.run(&["count", "s", "--json"]).exits_with(0).prints("{\"count\":4999}\n");
}

#[test]
fn rows_in_the_log_are_counted_and_the_keyspace_of_the_command_is_hidden() {
    let folder = store();
    db(&folder, &["put", "s", "one more", ""]).exits_with(0);
    db(&folder, &["delete", "s", "word07"]).exits_with(0);
    let stats = folder.run(&["stats", "s"]).exits_with(0).stdout;
    assert!(stats.contains("keyspace default: exactly 100 rows; "), "{stats}");
    assert!(stats.contains("keyspace ids: exactly 10 rows; ") && !stats.contains("keyspace ogive"), "{stats}");
    let stats = folder.run(&["stats", "s", "--json"]).exits_with(0).json();
    let rows = |name: &str| {
        let keyspaces = stats["keyspaces"].as_array().unwrap();
        assert_eq!(keyspaces.len(), 2, "{stats}");
        let found = keyspaces.iter().find(|keyspace| keyspace["name"] == name).unwrap();
        (found["rows"].clone(), found["is_exact"].clone())
    };
    assert_eq!((rows("default"), rows("ids")), ((json!(100), json!(true)), (json!(10), json!(true))));
}

#[test]
fn keyspaces_are_listed_and_dropped_by_name() {
    let folder = store();
    let listed = db(&folder, &["keyspaces", "s"]).exits_with(0).stdout;
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["keyspace", "default", "ids"], "{listed}");
    let listed = db(&folder, &["keyspaces", "s", "--json"]).exits_with(0).json();
    let ids = &listed["keyspaces"][1];
    assert_eq!((&ids["name"], &ids["key_type"], &ids["rows"]), (&json!("ids"), &json!("u64"), &json!(10)));
    assert!(ids["bytes"].as_u64() > Some(0), "{listed}");
    db(&folder, &["drop-keyspace", "s", "default"]).exits_with(1).complains_of("hint: remove its entries with");
    db(&folder, &["drop-keyspace", "s", "idz"]).exits_with(1).complains_of("existing keyspaces: default, ids");
    db(&folder, &["drop-keyspace", "s", "ogive"]).exits_with(1).complains_of("reserved");
    db(&folder, &["drop-keyspace", "missing", "ids"]).exits_with(1).complains_of("not found");
    db(&folder, &["drop-keyspace", "s", "ids"]).exits_with(0).prints("s: keyspace \"ids\" dropped\n");
    folder.run(&["get", "s", "7", "--keyspace", "ids"]).exits_with(1).complains_of("existing keyspaces: default");
    folder.run(&["count", "s"]).exits_with(0).prints("100\n");
    // A keyspace of the same name begins without keys and without their type.
    db(&folder, &["put", "s", "seven", "x", "--keyspace", "ids"]).exits_with(0);
    let dropped = db(&folder, &["drop-keyspace", "s", "ids", "--json"]).exits_with(0).json();
    assert_eq!(dropped, json!({ "keyspace": "ids", "dropped": true }));
}

#[test]
fn a_count_in_a_store_takes_ranges_prefixes_and_keyspaces() {
    let folder = store();
    let count = |arguments: &[&str], expected: &str| {
        folder.run(&[&["count", "s"], arguments].concat()).exits_with(0).prints(expected);
    };
    count(&[], "100\n");
    count(&["--prefix", "word1"], "10\n");
    count(&["--from", "word10", "--to", "word15"], "5\n");
    count(&["--keyspace", "ids", "--from", "3"], "8\n");
    folder.run(&["count", "s", "--from", "b", "--to", "a"]).exits_with(2).complains_of("ends before it begins");
}

#[test]
fn ranges_of_deletions_and_joins_are_those_of_scans() {
    let folder = store();
    db(&folder, &["delete", "s", "--prefix", "word1"]).exits_with(0).prints("range removed\n");
    db(&folder, &["delete", "s", "--from", "word20", "--to", "word20"]).exits_with(0);
    folder.run(&["count", "s"]).exits_with(0).prints("90\n");
    let reversed = ["--from", "9", "--to", "1", "--keyspace", "ids"];
    db(&folder, &[&["delete", "s"], &reversed[..]].concat()).exits_with(2).complains_of("from 9 to 1 ends before");
    db(&folder, &["delete", "s", "word30", "--prefix", "word"]).exits_with(2);
    let join = |arguments: &[&str]| folder.run(&[&["join", "s", "ids.txt", "-o", "-"], arguments].concat());
    let reversed = ["--left-keyspace", "ids", "--left-from", "9", "--left-to", "1"];
    join(&reversed).exits_with(2).complains_of("the range from 9 to 1 ends before it begins");
    join(&["--left-keyspace", "idz"]).exits_with(1).complains_of("existing keyspaces: default, ids\n");
}

#[test]
fn types_that_were_stated_are_kept_by_an_import_before_there_are_rows() {
    let folder = Folder::new();
    folder.write("none.csv", "id,price,name\n");
    folder.write("rows.csv", "id,price,name\n1,99.5,007\n2,1.50,true\n");
    let stated = ["--key-type", "i64", "--type", "price=decimal(10,2)", "--type", "name=text"];
    db(&folder, &[&["import", "s", "none.csv", "--key", "id"][..], &stated].concat()).exits_with(0);
    let types = "types: i64 -> {price: decimal(10,2), name: text}";
    let imported = db(&folder, &["import", "s", "rows.csv", "--key", "id"]).exits_with(0);
    assert!(imported.stdout.contains(types), "{}", imported.stdout);
    db(&folder, &["delete", "s", "--from", "0", "--to", "100"]).exits_with(0);
    folder.write("other.csv", "id,other\n1,x\n");
    db(&folder, &["import", "s", "other.csv", "--key", "id"]).exits_with(2);
    let restated = db(&folder, &["import", "s", "other.csv", "--key", "id", "--key-type", "u32"]).exits_with(0);
    assert!(restated.stdout.contains("types: u32 -> {other: text}"), "{}", restated.stdout);
}

#[test]
fn no_command_replaces_stated_types_unless_an_option_names_others() {
    let folder = Folder::new();
    folder.write("none.csv", "id,price,name\n");
    folder.write("rows.csv", "id,price,name\n1,99.5,007\n");
    folder.write("other.csv", "id,price,name\n1,99,x\n");
    folder.write("narrow.csv", "id,price\n2,1.5\n");
    let stated = ["--key", "id", "--key-type", "i64", "--type", "price=decimal(10,2)", "--type", "name=text?"];
    let empty = |name: &str| {
        db(&folder, &[&["import", name, "none.csv"][..], &stated].concat()).exits_with(0);
    };
    let types = |store: &str| {
        let told = db(&folder, &["keyspaces", store, "--json"]).exits_with(0).json();
        let keyspace = &told["keyspaces"][0];
        format!("{} -> {}", keyspace["key_type"].as_str().unwrap(), keyspace["value_type"].as_str().unwrap())
    };
    let kept = "i64 -> {price: decimal(10,2), name: text?}";

    // Tables of other types are refused, those of the same types or of fewer fields are taken.
    empty("ingested");
    folder.build("other.csv", "other.ogive", &[]);
    let refused = db(&folder, &["ingest", "ingested", "other.ogive"]).exits_with(1);
    refused.complains_of("are i64, not u64").complains_of("--keyspace");
    folder.build("other.csv", "values.ogive", &["--key-type", "i64"]);
    let refused = db(&folder, &["ingest", "ingested", "values.ogive"]).exits_with(1);
    refused.complains_of("decimal(10,2)").complains_of("--keyspace");
    assert_eq!(types("ingested"), kept);
    for narrow in [false, true] {
        let stated = &stated[..if narrow { 6 } else { 8 }];
        folder.build(if narrow { "narrow.csv" } else { "rows.csv" }, "same.ogive", stated);
        db(&folder, &["ingest", "ingested", "same.ogive"]).exits_with(0);
        assert_eq!(types("ingested"), kept);
    }
    folder.run(&["scan", "ingested"]).exits_with(0).prints("1\t99.50\t007\n2\t1.50\t\n");

    // Options that name the types which are there change nothing, and others what they name.
    empty("put");
    db(&folder, &["put", "put", "7", "1.5,x", "--key-type", "i64"]).exits_with(0);
    assert_eq!(types("put"), kept);
    empty("put2");
    db(&folder, &["put", "put2", "7", "1.5,x", "--key-type", "u8"]).exits_with(0);
    assert_eq!(types("put2"), kept.replace("i64", "u8"));
    empty("imported");
    let same = ["import", "imported", "rows.csv", "--key-type", "i64", "--type", "price=decimal(10,2)"];
    db(&folder, &same).exits_with(0);
    assert_eq!(types("imported"), kept);
    empty("changed");
    db(&folder, &["import", "changed", "rows.csv", "--type", "name=u16"]).exits_with(0);
    assert_eq!(types("changed"), kept.replace("text?", "u16"));
    folder.run(&["scan", "changed"]).exits_with(0).prints("1\t99.50\t7\n");

    // Bytes are not put among texts.
    folder.write("words", "apple\n");
    folder.write("raw", b"\xff\n");
    folder.build("raw", "raw.ogive", &["--key-type", "bytes"]);
    db(&folder, &["import", "texts", "words"]).exits_with(0);
    db(&folder, &["ingest", "texts", "raw.ogive"]).exits_with(1).complains_of("are text, not bytes");
    db(&folder, &["import", "texts", "raw", "--key-type", "bytes"]).exits_with_error();
    folder.run(&["scan", "texts"]).exits_with(0).prints("apple\t\n");
}

#[test]
fn a_value_of_bytes_is_put_as_it_is_printed_and_one_row_is_one() {
    let folder = Folder::new();
    let printed = "a\\x00\\\\b\\n\\xff";
    db(&folder, &["put", "s", "k", printed, "--escaped"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints(&format!("k\t{printed}\n"));
    assert_eq!(folder.run(&["get", "s", "k", "--json"]).json()["record"]["value"]["hex"], "61005c620aff");
    db(&folder, &["put", "s", "k", "C:\\dir", "--escaped"]).exits_with(2).complains_of("begins no escape");
    db(&folder, &["put", "s", "k", "C:\\dir"]).exits_with(0);
    assert_eq!(folder.run(&["get", "s", "k", "--raw"]).exits_with(0).stdout, "C:\\dir");
    folder.write("one.csv", "id,v\n1,x\n");
    let told = db(&folder, &["import", "t", "one.csv"]).exits_with(0).stdout;
    assert!(told.contains(": 1 row imported in "), "{told}");
    folder.write("two.csv", "id,v\n1,x\n2,y\nz,y\n");
    let flags = ["--key-type", "u64", "--batch", "1", "--keyspace", "u"];
    let run = db(&folder, &[&["import", "t", "two.csv"], &flags[..]].concat()).exits_with(1);
    run.complains_of("the first 2 rows are durable");
    folder.write("bad.csv", "id,v\n1,x\nz,y\n");
    let run = db(&folder, &[&["import", "t", "bad.csv"], &flags[..]].concat()).exits_with(1);
    run.complains_of("the first row is durable");
    folder.build("one.csv", "one.ogive", &[]);
    let told = db(&folder, &["ingest", "v", "one.ogive"]).exits_with(0).stdout;
    assert!(told.contains("ingested 1 record of 1 table"), "{told}");
}

#[test]
fn columns_of_keys_are_not_taken_for_each_other() {
    let folder = Folder::new();
    folder.write("ab.csv", "a,b,v\n1,2,x\n");
    folder.write("ba.csv", "a,b,v\n7,8,y\n");
    folder.build("ab.csv", "ab.ogive", &["--key", "a", "--key", "b"]).exits_with(0);
    folder.build("ba.csv", "ba.ogive", &["--key", "b", "--key", "a"]).exits_with(0);
    let swapped = ["--key", "b", "--key", "a"];
    for fill in [&["ingest", "s", "ab.ogive"][..], &["import", "t", "ab.csv", "--key", "a", "--key", "b"]] {
        let store = fill[1];
        db(&folder, fill).exits_with(0);
        db(&folder, &["ingest", store, "ba.ogive"]).exits_with(1).complains_of("are by a, b, not by b, a");
        let import = [&["import", store, "ba.csv"][..], &swapped].concat();
        db(&folder, &import).exits_with(1).complains_of("are by a, b, not by b, a");
        folder.run(&["export", store, "-"]).exits_with(0).prints("a,b,v\n1,2,x\n");
        // By their names, or by others.
        db(&folder, &["import", store, "ba.csv"]).exits_with(0);
        folder.run(&["export", store, "-"]).exits_with(0).prints("a,b,v\n1,2,x\n7,8,y\n");
    }
    db(&folder, &["ingest", "u", "ab.ogive", "ba.ogive"]).exits_with(1).complains_of("unlike those of the previous");
}

#[test]
fn a_header_without_rows_decides_no_types() {
    let folder = Folder::new();
    folder.write("none.csv", "key,value\n");
    folder.write("one.csv", "key,value\n1,2\n");
    db(&folder, &["import", "s", "none.csv"]).exits_with(0);
    db(&folder, &["import", "s", "none.csv", "--keyspace", "text", "--key-type", "text"]).exits_with(0);
    for (name, key_type) in [("default", "u64"), ("text", "text")] {
        db(&folder, &["import", "s", "one.csv", "--keyspace", name]).exits_with(0);
        let listed = db(&folder, &["keyspaces", "s", "--json"]).exits_with(0).json();
        let found = listed["keyspaces"].as_array().unwrap().iter().find(|found| found["name"] == name).unwrap().clone();
        assert_eq!(found["key_type"], key_type, "{name}");
    }
}

#[test]
fn fields_of_a_keyspace_are_altered_and_old_rows_stay_right() {
    let folder = Folder::new();
    folder.write("orders.csv", "id,item,amount,price\n1,fig,4294967295,1.25\n2,lime,3,0.50\n");
    let types = ["--key", "id", "--type", "id=u64", "--type", "item=text", "--type", "amount=u32", "--type"];
    let import = [&["import", "s", "orders.csv"], &types[..], &["price=decimal(4,2)"]].concat();
    db(&folder, &import).exits_with(0);
    db(&folder, &["compact", "s"]).exits_with(0);
    let before = folder.run(&["info", "s", "--json"]).exits_with(0).json();
    let alter = |arguments: &[&str]| db(&folder, &[&["alter", "s"], arguments].concat());
    let fields = "{item: text, amount: u64, price: decimal(4,2)?, origin: text?}";
    let widened = ["--widen", "amount: u64", "--nullable", "price", "--add", "origin: text?"];
    alter(&[&widened[..], &["--dry-run"]].concat())
        .exits_with(0)
        .prints(&format!("s: keyspace \"default\" would become: u64 -> {fields}\n"));
    assert_eq!(folder.run(&["info", "s", "--json"]).exits_with(0).json(), before);
    alter(&widened).exits_with(0).prints(&format!("s: keyspace \"default\" is now: u64 -> {fields}\n"));
    db(&folder, &["put", "s", "3", "pear,4294967296,,Iran"]).exits_with(0);
    let rows = "1,fig,4294967295,1.25,\n2,lime,3,0.50,\n3,pear,4294967296,,Iran\n";
    let exported = |rows: &str| {
        let text = folder.run(&["export", "s", "-"]).exits_with(0).stdout;
        assert_eq!(text.split_once('\n').unwrap().1, rows, "{text}");
        folder.run(&["verify", "s"]).exits_with(0);
    };
    exported(rows);
    let kept = alter(&["default", "--to", fields, "--json"]).exits_with(0).json();
    assert_eq!((&kept["altered"], &kept["value_type"]), (&json!(false), &json!(fields)));
    alter(&["--to", "{item: text, amount: decimal(22,1), price: decimal(4,2)?, origin: text?}"]).exits_with(0);
    let rows = "1,fig,4294967295.0,1.25,\n2,lime,3.0,0.50,\n3,pear,4294967296.0,,Iran\n";
    exported(rows);
    db(&folder, &["compact", "s"]).exits_with(0);
    exported(rows);
    db(&folder, &["backup", "s", "b"]).exits_with(0);
    db(&folder, &["restore", "b", "r"]).exits_with(0);
    folder.run(&["get", "r", "1"]).exits_with(0).prints("fig\t4294967295.0\t1.25\t\n");

    alter(&["--widen", "amount: u8"]).exits_with(2).complains_of("take a decimal with at least");
    alter(&["--widen", "id: u128"]).exits_with(2).complains_of("belongs to the key");
    alter(&["--nullable", "colour"]).exits_with(2).complains_of("there are: id, item, amount, price, origin");
    alter(&["--add", "x: u8"]).exits_with(2).complains_of("let it be null");
    alter(&["--add", "x"]).exits_with(2).complains_of("is not a field");
    alter(&[]).exits_with(2).complains_of("no alteration was given");
    alter(&["other", "--nullable", "price"]).exits_with(1).complains_of("existing keyspaces: default");
}

#[test]
fn a_null_does_not_become_empty_text_in_a_field_that_has_none() {
    let folder = Folder::new();
    folder.write("first.csv", "id,name\n1,a\n");
    folder.write("second.csv", "id,name\n2,\n");
    folder.write("quoted.csv", "id,name\n3,\"\"\n");
    folder.run(&["db", "import", "s", "first.csv"]).exits_with(0);
    folder.run(&["db", "import", "s", "quoted.csv"]).exits_with(0);
    let refused = folder.run(&["db", "import", "s", "second.csv"]).exits_with(1);
    refused.complains_of("not of type text").complains_of("ogive db alter STORE KEYSPACE --nullable 'name'");
    folder.run(&["db", "alter", "s", "--nullable", "name"]).exits_with(0);
    folder.run(&["db", "import", "s", "second.csv"]).exits_with(0);
    let rows = folder.run(&["scan", "s", "--json"]).exits_with(0).stdout;
    assert_eq!(rows, "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":null}\n{\"id\":3,\"name\":\"\"}\n");
}

#[test]
fn a_value_that_a_wider_type_holds_is_told_with_the_alteration_that_takes_it() {
    let folder = Folder::new();
    folder.write("first.csv", "id,n,t\n1,7,a\n");
    folder.run(&["db", "import", "s", "first.csv", "--type", "n=u8"]).exits_with(0);
    for (value, field) in
        [("300", "n: u16"), ("-1", "n: i16"), ("9.5", "n: decimal(18,1)"), ("1e300", "n: f64"), ("x", "")]
    {
        folder.write("more.csv", format!("id,n,t\n2,{value},b\n"));
        let refused = folder.run(&["db", "import", "s", "more.csv"]).exits_with(1);
        match field {
            "" => _ = refused.keeps_quiet_about("alter"),
            field => _ = refused.complains_of(&format!("`ogive db alter STORE KEYSPACE --widen '{field}'`")),
        }
    }
    folder.run(&["db", "alter", "s", "default", "--widen", "n: decimal(18,1)"]).exits_with(0);
    folder.write("more.csv", "id,n,t\n2,9.5,b\n");
    folder.run(&["db", "import", "s", "more.csv"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints("1\t7.0\ta\n2\t9.5\tb\n");
}

#[test]
fn options_of_a_keyspace_are_set_and_shown() {
    let folder = Folder::new();
    folder.write("orders.csv", "id,item\n1,fig\n2,lime\n");
    db(&folder, &["import", "s", "orders.csv", "--key", "id"]).exits_with(0);
    let alter = |arguments: &[&str]| db(&folder, &[&["alter", "s"], arguments].concat());
    let set = ["--compression", "lz4", "--filter-bits", "12", "--separate-from", "4KiB", "--block-bytes", "16KiB"];
    let shown = "compression lz4, filters of 12 bits per key, value files from 4KiB, blocks of 16KiB";
    let line = |what: &str, shown: &str| format!("s: keyspace \"default\" {what}: {shown}\n");
    let would = line("would have the options", shown);
    alter(&[&set[..], &["--dry-run"]].concat()).exits_with(0).prints(&would);
    assert!(!folder.run(&["info", "s"]).exits_with(0).stdout.contains("lz4"));
    alter(&set).exits_with(0).prints(&line("has the options", shown));
    alter(&set).exits_with(0).prints(&line("keeps its options", shown));
    assert!(folder.run(&["info", "s"]).exits_with(0).stdout.contains(shown));
    assert!(folder.run(&["stats", "s"]).exits_with(0).stdout.contains(shown));
    let facts = &folder.run(&["info", "s", "--json"]).exits_with(0).json()["keyspaces"][0]["options"];
    let expected = json!({
        "compression": "lz4", "filter_bits_per_key": 12, "separation_bytes": 4096, "block_bytes": 16384
    });
    assert_eq!(*facts, expected);
    alter(&["--filter-bits", "0", "--separate-from", "never", "--block-bytes", "store", "--compression", "store"])
        .exits_with(0)
        .prints(&line("has the options", "no filters, no value files"));
    // Beside an alteration of its fields.
    alter(&["--filter-bits", "store", "--separate-from", "store", "--add", "n: u8?", "--json"]).exits_with(0);
    assert!(!folder.run(&["info", "s"]).exits_with(0).stdout.contains("options"));
    alter(&["--block-bytes", "1000"]).exits_with(2).complains_of("power of two");
    alter(&["--filter-bits", "33"]).exits_with(2).complains_of("0 to 32");
    alter(&["--compression", "gzip"]).exits_with(2).complains_of("none, lz4");
}
