//! Tables come out of an export as they went in, in each format and by each command. Method: whole runs on eight
//! columns of eight types with nulls, empty texts, quotes and new lines, compared to the byte; and on drawn tables of
//! text and bytes that have what the formats treat in special ways.

use super::run::Folder;
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

/// Rows in the order of their keys, in canonical form: a null is nothing, empty text is `""`.
const ROWS: [&str; 5] = [
    "-7,\"\",-0.25,1990-05-01,2024-02-29T12:00:00.5,01890a5d-ac96-774b-bcce-b302099a8057,true,18446744073709551615\n",
    "0,,1250.75,,1969-12-31T23:59:59.999,,false,0\n",
    "2,\"say \"\"so\"\", Bo\",2,0001-01-01,,01890a5d-ac96-774b-bcce-b302099a8058,true,\n",
    "3,\"two\nlines\",,9999-12-31,2024-02-29T12:00:01,,,7\n",
    "40,\"tab\t, comma\",NaN,2000-01-01,2024-02-29T12:00:02,,false,8\n",
];
const HEADER: &str = "delta,name,price,born,seen,uid,ok,count\n";
const TYPES: &str = "{name: text?, price: f64?, born: date?, seen: timestamp(ms)?, uid: uuid?, ok: bool?, count: u64?}";

fn sorted() -> String {
    HEADER.to_owned() + &ROWS.concat()
}

/// A folder with the rows in another order, in `rows.csv`.
fn shuffled() -> Folder {
    let folder = Folder::new();
    let rows = [3, 0, 4, 2, 1].map(|row| ROWS[row]);
    folder.write("rows.csv", HEADER.to_owned() + &rows.concat());
    folder
}

fn types(folder: &Folder, table: &str) -> [String; 2] {
    let told = folder.run(&["explain", table, "--json"]).exits_with(0).json();
    [&told["key_type"], &told["value_type"]].map(|name| name.as_str().unwrap().to_owned())
}

#[test]
fn rows_go_in_by_every_command_and_come_out_to_the_byte() {
    let folder = shuffled();
    folder.build("rows.csv", "t.ogive", &[]);
    assert_eq!(types(&folder, "t.ogive"), ["i64", TYPES]);
    folder.run(&["export", "t.ogive", "-"]).exits_with(0).prints(&sorted());
    let imported = folder.run(&["db", "import", "s", "rows.csv"]).exits_with(0);
    assert!(imported.stdout.contains(&format!("types: i64 -> {TYPES}\n")), "{}", imported.stdout);
    folder.run(&["export", "s", "-"]).exits_with(0).prints(&sorted());
    folder.write("keys.csv", "delta\n0\n-7\n40\n3\n2\n");
    for (left, out) in [("rows.csv", "j.csv"), ("t.ogive", "k.csv"), ("s", "l.csv")] {
        let joined = folder.run(&["join", left, "keys.csv", "-o", out]).exits_with(0);
        assert!(joined.stdout.contains(&format!("types: i64 -> {TYPES}\n")), "{}", joined.stdout);
        assert_eq!(std::fs::read_to_string(folder.path(out)).unwrap(), sorted(), "{left}");
    }
    let told = folder.run(&["join", "rows.csv", "keys.csv", "-o", "j.ogive", "--json"]).exits_with(0).json();
    assert_eq!([&told["key_type"], &told["value_type"]], [&json!("i64"), &json!(TYPES)]);
    folder.run(&["export", "j.ogive", "-"]).exits_with(0).prints(&sorted());
}

#[test]
fn an_export_builds_an_equal_table_in_every_format() {
    let folder = shuffled();
    folder.build("rows.csv", "t.ogive", &[]);
    let mut names = vec!["out.csv", "out.tsv", "out.jsonl", "out.ndjson"];
    if cfg!(feature = "parquet") {
        names.push("out.parquet");
    }
    for name in names {
        folder.run(&["export", "t.ogive", name]).exits_with(0);
        folder.build(name, "again.ogive", &[]);
        assert_eq!(types(&folder, "again.ogive"), ["i64", TYPES], "{name}");
        folder.run(&["export", "again.ogive", "-"]).exits_with(0).prints(&sorted());
        folder.run(&["db", "import", "s", name, "--keyspace", name]).exits_with(0);
        folder.run(&["export", "s", "-", "--keyspace", name]).exits_with(0).prints(&sorted());
    }
    let lines = std::fs::read(folder.path("out.jsonl")).unwrap();
    let arguments = ["build", "-", "--format", "jsonl", "-o", "piped.ogive"];
    let mut child = folder.command(&arguments).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&lines).unwrap();
    assert!(child.wait().unwrap().success());
    folder.run(&["export", "piped.ogive", "-"]).exits_with(0).prints(&sorted());
}

#[test]
fn types_that_text_does_not_show_come_back_if_they_are_given() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,wide,price,raw,narrow\n1,7,1.50,\"\",-3\n2,,0.25,ab,4\n");
    let given = ["--type", "wide=u128?", "--type", "price=decimal(8,2)", "--type", "raw=bytes", "--type", "narrow=i8"];
    folder.build("rows.csv", "t.ogive", &given);
    for name in ["out.csv", "out.jsonl"] {
        folder.run(&["export", "t.ogive", name]).exits_with(0);
        folder.build(name, "again.ogive", &given);
        assert_eq!(types(&folder, "again.ogive"), types(&folder, "t.ogive"));
        let rows = folder.run(&["export", "t.ogive", "-"]).exits_with(0).stdout;
        folder.run(&["export", "again.ogive", "-"]).exits_with(0).prints(&rows);
    }
    folder.write("raw", b"\xff\x00\nplain\n");
    folder.build("raw", "raw.ogive", &["--format", "lines"]);
    folder.run(&["export", "raw.ogive", "raw.jsonl"]).exits_with(0);
    folder.build("raw.jsonl", "again.ogive", &["--key", "key", "--keys-only"]);
    folder.run(&["scan", "again.ogive"]).exits_with(0).prints("plain\t\n\\xff\\x00\t\n");
}

#[test]
fn a_quoted_empty_field_is_empty_text_and_one_of_nothing_a_null() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,a,b,c,d\n1,\"\",,\"\",\n2,x,y,\"\",\"\"\n");
    folder.build("rows.csv", "t", &[]);
    assert_eq!(types(&folder, "t")[1], "{a: text, b: text?, c: text, d: text?}");
    let rows = folder.run(&["scan", "t", "--json"]).exits_with(0).json_lines();
    assert_eq!(rows[0], json!({ "id": 1, "a": "", "b": null, "c": "", "d": null }));
    assert_eq!(rows[1], json!({ "id": 2, "a": "x", "b": "y", "c": "", "d": "" }));
    folder.build("rows.csv", "t", &["--type", "a=text?", "--type", "b=text", "--type", "c=u8?", "--type", "d=text?"]);
    let first = folder.run(&["get", "t", "1", "--json"]).exits_with(0).json();
    assert_eq!(first["record"], json!({ "id": 1, "a": "", "b": "", "c": null, "d": null }));
}

#[test]
fn nulls_of_a_single_column_are_empty_lines_where_the_column_may_have_them() {
    let folder = Folder::new();
    for (key_type, rows) in
        [("(text?)", "\"\"\na\nb\n\n"), ("(u64?)", "1\n7\n\n"), ("(text? nulls first)", "\n\"\"\na\n")]
    {
        let sorted = format!("k\n{rows}");
        folder.write("k.csv", &sorted);
        let typed = ["--key-type", key_type];
        folder.build("k.csv", "t.ogive", &typed);
        folder.run(&["export", "t.ogive", "-"]).exits_with(0).prints(&sorted);
        folder.run(&["export", "t.ogive", "out.tsv", "--quote", "\"", "--force"]).exits_with(0);
        assert_eq!(std::fs::read_to_string(folder.path("out.tsv")).unwrap(), sorted);
        folder.build("out.tsv", "u.ogive", &["--quote", "\"", "--key-type", key_type]);
        folder.run(&["export", "u.ogive", "-"]).exits_with(0).prints(&sorted);
        // Without a header, too, and through a pipe.
        folder.write("bare.csv", rows);
        folder.build("bare.csv", "b.ogive", &["--no-header", "--key-type", key_type]);
        folder.run(&["export", "b.ogive", "-"]).exits_with(0).prints(&sorted.replacen('k', "column1", 1));
        let piped = ["build", "-", "-o", "p.ogive", "--format", "csv", "--key-type", key_type];
        folder.run_piped("k.csv", &piped).exits_with(0);
        folder.run(&["export", "p.ogive", "-"]).exits_with(0).prints(&sorted);
        folder.run(&["db", "import", &format!("s-{}", rows.len()), "k.csv", "--key-type", key_type]).exits_with(0);
        folder.run(&["export", &format!("s-{}", rows.len()), "-"]).exits_with(0).prints(&sorted);
    }
    // Keys that are never null have no such lines, as behind the last row of many files.
    for (rows, keys) in [("k\na\n\nb\n\n\n", "a\nb\n"), ("k\r\n1\r\n\r\n2\r\n\r\n", "1\n2\n")] {
        for flags in [&[][..], &["--key-type", "text"]] {
            folder.write("k.csv", rows);
            folder.build("k.csv", "t.ogive", flags);
            folder.run(&["export", "t.ogive", "-"]).exits_with(0).prints(&format!("k\n{keys}"));
        }
    }
}

#[test]
fn a_name_that_begins_with_a_byte_order_mark_keeps_it() {
    let folder = Folder::new();
    folder.write("rows.jsonl", "{\"\u{feff}k\": 1, \"v\": \"\u{feff}\"}\n");
    folder.build("rows.jsonl", "t.ogive", &[]);
    for name in ["x.csv", "x.tsv", "x.jsonl"] {
        folder.run(&["export", "t.ogive", name]).exits_with(0);
        folder.build(name, "u.ogive", &[]);
        let expected = "{\"\u{feff}k\":1,\"v\":\"\u{feff}\"}\n";
        folder.run(&["export", "u.ogive", "-", "--json"]).exits_with(0).prints(expected);
    }
}

#[test]
fn numbers_beyond_the_range_of_floats_are_refused_and_infinity_is_a_word() {
    let folder = Folder::new();
    folder.write("first.csv", "k,v\n1,2.5\n2,inf\n");
    folder.run(&["db", "import", "s", "first.csv"]).exits_with(0);
    for (name, rows) in [("beyond.csv", "k,v\n3,1e400\n"), ("beyond.jsonl", "{\"k\": 3, \"v\": -1e999}\n")] {
        folder.write(name, rows);
        folder.run(&["db", "import", "s", name]).exits_with(1).complains_of("is not of type f64");
        folder.run(&["build", name, "-o", "t", "--type", "v=f32"]).exits_with(1).complains_of("is not of type f32");
    }
    folder.run(&["db", "put", "s", "3", "1e999"]).exits_with(2).complains_of("is not a value of type");
    folder.run(&["scan", "s"]).exits_with(0).prints("1\t2.5\n2\tinf\n");
    folder.run(&["index", "create", "i", "--key-type", "f64"]).exits_with(0);
    folder.run(&["index", "put", "i", "1e999"]).exits_with(2).complains_of("1e999");
    folder.run(&["index", "put", "i", "-inf"]).exits_with(0);
}

#[test]
fn thousands_of_columns_of_one_name_are_told_apart_soon() {
    let folder = Folder::new();
    let names = vec!["c"; 20_000].join(",");
    folder.write("wide.csv", format!("{names}\n{}\n", vec!["7"; 20_000].join(",")));
    folder.run(&["build", "wide.csv", "-o", "t", "--value", "20000"]).exits_with(0);
    folder.run(&["scan", "t", "--json"]).exits_with(0).prints("{\"c\":7,\"c_20000\":7}\n");
    let members: Vec<String> = (0..20_000).map(|number| format!("\"c{number}\":{number}")).collect();
    folder.write("wide.jsonl", format!("{{{}}}\n", members.join(",")));
    folder.run(&["build", "wide.jsonl", "-o", "u", "--value", "c9"]).exits_with(0);
    folder.run(&["scan", "u", "--json"]).exits_with(0).prints("{\"c0\":0,\"c9\":9}\n");
    folder.run(&["build", "wide.jsonl", "-o", "v"]).exits_with_error().complains_of("2048");
    folder.write("twice.jsonl", "{\"a\":1,\"b\":2,\"b\":3}\n");
    folder.run(&["build", "twice.jsonl", "-o", "v"]).exits_with(1).complains_of("'b' appears twice");
}

#[test]
fn a_text_file_with_several_names_is_an_input_like_others() {
    let folder = Folder::new();
    folder.write("a.csv", "k,v\n1,2\n");
    std::fs::hard_link(folder.path("a.csv"), folder.path("b.csv")).unwrap();
    folder.write("c.csv", "k,w\n1,3\n");
    folder.run(&["join", "b.csv", "c.csv", "-o", "-"]).exits_with(0).prints("1\t2\t3\n");
}

#[cfg(feature = "parquet")]
#[test]
fn columns_of_parquet_with_one_name_are_refused_and_half_floats_are_read() {
    use parquet::basic::{LogicalType, Repetition, Type as Physical};
    use parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;
    use std::sync::Arc;

    let folder = Folder::new();
    let number = |name| {
        Type::primitive_type_builder(name, Physical::INT64).with_repetition(Repetition::REQUIRED).build().unwrap()
    };
    let half = Type::primitive_type_builder("h", Physical::FIXED_LEN_BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_length(2)
        .with_logical_type(Some(LogicalType::Float16))
        .build()
        .unwrap();
    let schema = Type::group_type_builder("rows")
        .with_fields([number("k"), number("k"), half].map(Arc::new).to_vec())
        .build()
        .unwrap();
    let file = std::fs::File::create(folder.path("rows.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    for numbers in [[1, 2], [3, 4]] {
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&numbers, None, None).unwrap();
        column.close().unwrap();
    }
    let mut column = rows.next_column().unwrap().unwrap();
    // 1.5 and -2, little-endian.
    let halves = [vec![0x00, 0x3e], vec![0x00, 0xc0]].map(FixedLenByteArray::from);
    column.typed::<FixedLenByteArrayType>().write_batch(&halves, None, None).unwrap();
    column.close().unwrap();
    rows.close().unwrap();
    writer.close().unwrap();
    for columns in [&["--key", "1"][..], &["--key", "2"], &["--key", "3", "--value", "2"]] {
        let run = folder.run(&[&["build", "rows.parquet", "-o", "t"], columns].concat());
        run.exits_with(1).complains_of("two columns have the name 'k'");
    }
    folder.run(&["build", "rows.parquet", "-o", "t", "--key", "h", "--keys-only"]).exits_with(0);
    folder.run(&["scan", "t", "--json"]).exits_with(0).prints("{\"h\":-2}\n{\"h\":1.5}\n");
}

/// Numbers from a seed (SplitMix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % end as u64) as usize
    }

    fn text(&mut self) -> String {
        const PIECES: [&str; 19] = [
            "\t", "\n", "\r", "\r\n", "\\", "\\N", "\\t", "\\.", "\"", "\"\"", ",", ";", " ", "N", "é", "a", "7", "\0",
            "\u{8}",
        ];
        (0..self.below(4)).map(|_| PIECES[self.below(PIECES.len())]).collect()
    }

    /// A value of a type in JSON.
    fn json(&mut self, type_name: &str) -> serde_json::Value {
        match type_name.trim_end_matches('?') {
            name if name.len() < type_name.len() && self.below(3) == 0 => json!(null),
            "text" => json!(self.text()),
            "bytes" => {
                let hex: String = (0..self.below(3)).map(|_| ["ff", "09", "0a", "5c", "22"][self.below(5)]).collect();
                json!({ "hex": hex })
            }
            "f64" => {
                let floats = [json!(0.5), json!(-2e300), json!("NaN"), json!("-inf"), json!(0), json!(-0.0)];
                floats[self.below(6)].clone()
            }
            "bool" => json!(self.below(2) == 0),
            _ => json!(self.below(200)),
        }
    }
}

/// The types of columns, with the first one that of the key.
const DRAWN_TYPES: [&[&str]; 6] = [
    &["text"],
    &["bytes"],
    &["text", "text?"],
    &["u64", "text", "bytes?", "f64?"],
    &["bytes", "bool?", "text?", "text"],
    &["text", "u8?", "f64"],
];

#[test]
fn any_text_and_bytes_come_back_through_every_form_of_separated_fields() {
    let mut draws = Draws(7);
    for (round, types) in DRAWN_TYPES.into_iter().cycle().take(12).enumerate() {
        let folder = Folder::new();
        // Names of columns are as special as their values.
        let names: Vec<String> = (0..types.len()).map(|column| format!("c{}{column}", draws.text())).collect();
        let object = |draws: &mut Draws| {
            let members = names.iter().zip(types).map(|(name, of)| format!("{}:{}", json!(name), draws.json(of)));
            format!("{{{}}}\n", members.collect::<Vec<_>>().join(","))
        };
        let rows: String = (0..20).map(|_| object(&mut draws)).collect();
        folder.write("rows.jsonl", &rows);
        let mut given = vec!["--key".to_owned(), "1".to_owned()];
        for (column, of) in types.iter().enumerate() {
            given.extend(["--type".to_owned(), format!("{}={of}", column + 1)]);
        }
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        folder.build("rows.jsonl", "t.ogive", &given);
        folder.run(&[&["db", "import", "s", "rows.jsonl"], &given[..]].concat()).exits_with(0);
        let (in_table, in_store) = (["scan", "t.ogive", "--json"], ["scan", "s", "--json"]);
        let (in_table, in_store) = (folder.run(&in_table).stdout, folder.run(&in_store).stdout);
        for (name, flags) in
            [("out.csv", &[][..]), ("out.tsv", &[]), ("quoted.tsv", &["--quote", "\""]), ("out.jsonl", &[])]
        {
            let what = || format!("round {round}, {name}: {rows}");
            folder.run(&[&["export", "t.ogive", name], flags].concat()).exits_with(0);
            folder.build(name, "again.ogive", &[&given[..], flags].concat());
            assert_eq!(self::types(&folder, "again.ogive"), self::types(&folder, "t.ogive"), "{}", what());
            assert_eq!(folder.run(&["scan", "again.ogive", "--json"]).exits_with(0).stdout, in_table, "{}", what());
            folder.run(&[&["export", "s", name, "--force"], flags].concat()).exits_with(0);
            let import = [&["db", "import", "again", name, "--keyspace", name], &given[..], flags].concat();
            folder.run(&import).exits_with(0);
            let scan = ["scan", "again", "--keyspace", name, "--json"];
            assert_eq!(folder.run(&scan).exits_with(0).stdout, in_store, "{}", what());
            // Joins write and read them, too. Of a keyspace of keys alone they write the values, which are empty.
            if types.len() > 1 {
                let semi = ["join", "s", "again", "--right-keyspace", name, "--kind", "semi", "-o", name, "--force"];
                folder.run(&[&semi[..], flags].concat()).exits_with(0);
                folder.build(name, "again.ogive", &[&given[..], flags].concat());
                assert_eq!(folder.run(&["scan", "again.ogive", "--json"]).exits_with(0).stdout, in_store, "{}", what());
            }
        }
    }
}

#[test]
fn tab_separated_values_are_read_as_postgresql_writes_them() {
    let folder = Folder::new();
    folder.write("rows.tsv", "id\tname\tn\tnote\n1\t\"ann\t\t\\N\n2\ta\\tb\\\\c\\nd\t\\N\tx\\by\r\n3\t\t7\t\\\\N\n");
    folder.build("rows.tsv", "t", &[]);
    assert_eq!(types(&folder, "t"), ["u64", "{name: text, n: u64?, note: text?}"]);
    let rows = folder.run(&["scan", "t", "--json"]).exits_with(0).json_lines();
    assert_eq!(rows[0], json!({ "id": 1, "name": "\"ann", "n": null, "note": null }));
    assert_eq!(rows[1], json!({ "id": 2, "name": "a\tb\\c\nd", "n": null, "note": "x\u{8}y" }));
    assert_eq!(rows[2], json!({ "id": 3, "name": "", "n": 7, "note": "\\N" }));
    folder.run(&["export", "t", "out.tsv"]).exits_with(0);
    let written = "id\tname\tn\tnote\n1\t\"ann\t\\N\t\\N\n2\ta\\tb\\\\c\\nd\t\\N\tx\u{8}y\n3\t\t7\t\\\\N\n";
    assert_eq!(std::fs::read_to_string(folder.path("out.tsv")).unwrap(), written);
    // Text on a pipe, with another byte between fields.
    folder.write("rows.txt", "id;name\n1;a\\;\"b\n");
    let flags = ["--format", "tsv", "--delimiter", ";"];
    folder.run_piped("rows.txt", &[&["build", "-", "-o", "u"], &flags[..]].concat()).exits_with(0);
    folder.run(&["get", "u", "1"]).exits_with(0).prints("a;\"b\n");
    let refused = |flags: &[&str]| folder.run(&[&["build", "rows.txt", "-o", "v"], flags].concat()).exits_with(2);
    refused(&["--format", "tsv", "--delimiter", "n"]).complains_of("--quote");
    refused(&["--quote", "\""]).complains_of("remove --quote");
    refused(&["--lenient"]).complains_of("remove --lenient");
    folder.run(&["export", "t", "out.jsonl", "--quote", "\""]).exits_with(2).complains_of("remove --quote");
}

#[test]
fn what_has_no_meaning_in_separated_fields_is_an_error_with_its_line_and_lenient_takes_it() {
    let folder = Folder::new();
    folder.write("keys.csv", "id\n1\n2\n3\n");
    for (name, rows, line, what, lenient) in [
        ("a.csv", "id,v\n1,\"two\nlines\"\n2,\"a\"b\n", 4, "text behind a closing quote", "ab"),
        ("b.csv", "id,v\n1,x\n2,\"a\" \n", 3, "text behind a closing quote", "a "),
        ("c.tsv", "id\tv\n1\tx\n2\tC:\\dir\n", 3, "a backslash that begins no escape", "C:\\dir"),
        ("d.tsv", "id\tv\n1\tx\n2\t\\Nx\n", 3, "a backslash that begins no escape", "\\Nx"),
        ("e.tsv", "id\tv\n1\tx\n2\tx\\", 3, "a backslash that begins no escape", "x\\"),
    ] {
        folder.write(name, rows);
        let of = |arguments: &[&str]| folder.run(&[arguments, &["--lenient"]].concat()).exits_with(0);
        let message = format!("line {line} of {name} has {what}");
        for (at, arguments) in [
            &["build", name, "-o", "t.ogive"][..],
            &["db", "import", name.trim_end_matches("sv"), name],
            &["join", name, "keys.csv", "-o", "j.csv", "--force"],
        ]
        .into_iter()
        .enumerate()
        {
            let run = folder.run(arguments).exits_with(1).complains_of(&message).complains_of("--lenient");
            assert!(at > 0 || run.stdout.is_empty());
            of(arguments);
        }
        let found = folder.run(&["get", "t.ogive", "2", "--json"]).exits_with(0).json();
        assert_eq!(found["record"]["v"], lenient, "{name}");
        std::fs::remove_file(folder.path("t.ogive")).unwrap();
    }
}

#[test]
fn an_export_without_rows_is_taken_back_by_its_keyspace_in_every_format() {
    let folder = Folder::new();
    folder.write("start.csv", "id,a\n1,x\n");
    folder.run(&["db", "import", "s", "start.csv"]).exits_with(0);
    folder.run(&["db", "delete", "s", "1"]).exits_with(0);
    for file in ["e.csv", "e.tsv", "e.jsonl"] {
        folder.run(&["export", "s", file]).exits_with(0);
        folder.run(&["db", "import", "s", file]).exits_with(0);
    }
    folder.write("rows.jsonl", "{\"id\":2,\"a\":\"y\"}\n");
    folder.run(&["db", "import", "s", "rows.jsonl"]).exits_with(0);
    folder.run(&["export", "s", "-"]).exits_with(0).prints("id,a\n2,y\n");
    folder.run(&["build", "e.jsonl", "-o", "t"]).exits_with(1).complains_of("contains no records");
}

#[cfg(feature = "parquet")]
#[test]
fn a_field_with_the_name_of_the_key_keeps_it_through_parquet() {
    let folder = Folder::new();
    let db = ogive::Db::open(folder.path("s"), &ogive::DbOptions::default()).unwrap();
    let values: ogive::types::ValueType = "{key: f32?, b: i64}".parse().unwrap();
    drop(db.keyspace("default").unwrap().declare(&ogive::types::RecordType::new(ogive::KeyType::I64, values)).unwrap());
    db.close().unwrap();
    folder.write("rows.csv", "key,key_2,b\n1,2.5,3\n");
    folder.run(&["db", "import", "s", "rows.csv"]).exits_with(0);
    folder.run(&["export", "s", "x.parquet"]).exits_with(0);
    let told = folder.run(&["db", "import", "again", "x.parquet"]).exits_with(0).stdout;
    assert!(told.contains("types: i64 -> {key: f32?, b: i64}"), "{told}");
    folder.run(&["export", "again", "-"]).exits_with(0).prints("key,key_2,b\n1,2.5,3\n");
    folder.run(&["db", "import", "s", "x.parquet"]).exits_with(0);
    // With another key, columns have the names of the file.
    let told = folder.run(&["build", "x.parquet", "-o", "t", "--key", "b"]).exits_with(0).stdout;
    assert!(told.contains("types: i64 -> {key: i64, key_2: f32?}"), "{told}");
}

#[test]
fn names_of_columns_that_are_no_text_are_refused() {
    let folder = Folder::new();
    folder.write("n.csv", b"k,\xff\n1,2\n");
    folder.write("n.tsv", b"k\tv\t\xe9t\xe9\n1\t2\t3\n");
    folder.run(&["build", "n.csv", "-o", "t"]).exits_with(1).complains_of("line 1: the name of column 2 is not UTF-8");
    folder.run(&["db", "import", "s", "n.tsv"]).exits_with(1).complains_of("line 1: the name of column 3");
    let run = folder.run(&["build", "n.csv", "-o", "t", "--lenient"]).exits_with(0);
    run.complains_of("note: the name of column 2 of n.csv, '\\xff', is not UTF-8, and became '\u{fffd}'");
    let run = folder.run(&["db", "import", "s", "n.tsv", "--lenient"]).exits_with(0);
    run.complains_of("column 3 of n.tsv, '\\xe9t\\xe9', ").complains_of("became '\u{fffd}t\u{fffd}'");
    folder.run(&["build", "n.csv", "-o", "t", "--no-header", "--force"]).exits_with(0);
}
