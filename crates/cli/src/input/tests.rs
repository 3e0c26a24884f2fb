//! Tests of input readers: records in order, and errors with their position. Method: small files, written
//! by hand, and hostile ones.

use super::*;
use crate::failure::{Failure, Result};
use clap::Parser;
use ogive::KeyType;
use std::path::PathBuf;

/// A command line with only the options of inputs.
#[derive(Parser)]
struct OnlyInput {
    #[command(flatten)]
    input: InputOptions,
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn options(&self, name: &str, content: impl AsRef<[u8]>, flags: &[&str]) -> InputOptions {
        let path = self.file(name, content);
        let arguments = ["ogive", path.to_str().unwrap()].into_iter().chain(flags.iter().copied());
        OnlyInput::try_parse_from(arguments).map_err(|error| error.to_string()).unwrap().input
    }

    /// All records of a file, with the type that its keys have.
    fn read(&self, name: &str, content: impl AsRef<[u8]>, flags: &[&str]) -> Result<(KeyType, Vec<(String, String)>)> {
        let options = self.options(name, content, flags);
        let schema = options.schema(TypeSample::Start)?;
        let key_type = schema.record_type.keys;
        let mut input = options.open(&schema)?;
        let mut records = Vec::new();
        while let Some(record) = input.next()? {
            let key = crate::values::key::shown(key_type, record.key).into_owned();
            records.push((key, crate::values::value::shown(&schema.record_type.values, record.value).into_owned()));
        }
        if let Some(stated) = input.facts().records {
            assert_eq!(stated, records.len() as u64);
        }
        if let Some(length) = input.facts().length_bytes {
            assert_eq!(input.position_bytes(), length);
        }
        Ok((key_type, records))
    }

    fn keys(&self, name: &str, content: impl AsRef<[u8]>, flags: &[&str]) -> Vec<String> {
        self.read(name, content, flags).unwrap().1.into_iter().map(|(key, _)| key).collect()
    }

    fn failure(&self, name: &str, content: impl AsRef<[u8]>, flags: &[&str]) -> Failure {
        self.read(name, content, flags).unwrap_err()
    }
}

fn sosd(keys: &[u64]) -> Vec<u8> {
    let count = keys.len() as u64;
    std::iter::once(&count).chain(keys).flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn a_sosd_file_gives_its_keys_as_numbers() {
    let folder = Folder::new();
    let keys = [0, 1, 1, 1 << 53, u64::MAX];
    let expected: Vec<String> = keys.iter().map(u64::to_string).collect();
    assert_eq!(folder.keys("keys.u64", sosd(&keys), &[]), expected);
    assert_eq!(folder.keys("wiki_ts_200M_uint64", sosd(&keys), &[]), expected);
    assert_eq!(folder.keys("other", sosd(&keys), &["--format", "sosd"]), expected);
    assert_eq!(folder.keys("none.u64", sosd(&[]), &[]), Vec::<String>::new());
    let mut narrow = 2_u64.to_le_bytes().to_vec();
    narrow.extend([7_u32, u32::MAX].iter().flat_map(|key| key.to_le_bytes()));
    assert_eq!(folder.keys("keys.u32", &narrow, &[]), ["7", "4294967295"]);
}

#[test]
fn a_sosd_file_whose_length_belies_its_count_is_refused() {
    let folder = Folder::new();
    let whole = sosd(&[1, 2, 3]);
    let mut hostile = whole.clone();
    hostile[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let longer = [&whole[..], &[0]].concat();
    for content in [&whole[..0], &whole[..7], &whole[..8], &whole[..31], &longer, &hostile] {
        let failure = folder.failure("keys.u64", content, &[]);
        assert!(matches!(failure, Failure::Input(InputError::NotSosd { .. })), "{failure}");
        assert!(failure.to_string().contains("keys.u64") && failure.hint().unwrap().contains("--format"));
    }
}

#[test]
fn a_sosd_file_is_sampled_from_end_to_end() {
    let folder = Folder::new();
    let sample = |count: u64| {
        let keys: Vec<u64> = (0..count).collect();
        folder.options("keys.u64", sosd(&keys), &["--payload", "8"]).quick_sample().unwrap().unwrap()
    };
    let few = sample(1000);
    assert_eq!((few.runs.len(), few.records, few.record_bytes), (1, 1000, 16.0));
    assert!(few.runs[0].iter().copied().eq(0..1000));
    let many = sample(3_000_000);
    assert_eq!((many.runs.len(), many.records), (8, 3_000_000));
    assert_eq!(many.runs[0][0], 0);
    assert_eq!(many.runs[7].last(), Some(&2_999_999));
    assert!(many.runs.iter().all(|keys| keys.windows(2).all(|pair| pair[0] + 1 == pair[1])));
    assert_eq!(folder.options("none.u64", sosd(&[]), &[]).quick_sample().unwrap().unwrap().records, 0);
    assert!(folder.options("lines", "1\n", &[]).quick_sample().unwrap().is_none());
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_key() {
    let folder = Folder::new();
    assert_eq!(folder.keys("words.txt", "\u{feff}a\n\u{feff}b\n", &[]), ["a", "\u{feff}b"]);
}

#[test]
fn every_line_is_a_key() {
    let folder = Folder::new();
    let (key_type, records) = folder.read("words.txt", "b\na\n\nc\r\n\tlast", &[]).unwrap();
    assert_eq!(key_type, KeyType::Text);
    assert_eq!(records.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "a", "", "c", "\\tlast"]);
    assert!(folder.keys("empty", "", &[]).is_empty());
    assert_eq!(folder.read("ids.txt", "10\n9\n", &[]).unwrap().0, KeyType::U64);
    assert_eq!(folder.read("ids.txt", "10\n-9\n", &[]).unwrap().0, KeyType::I64);
    assert_eq!(folder.read("ids.txt", "10\n9\n", &["--key-type", "text"]).unwrap().0, KeyType::Text);
    assert_eq!(folder.read("raw.bin", b"\xff\n\0\n", &["--format", "lines"]).unwrap().0, KeyType::Bytes);
}

#[test]
fn a_line_beyond_the_longest_key_is_refused_without_being_held() {
    let folder = Folder::new();
    let longest = "k".repeat(1 << 16);
    for end in ["", "\n", "\r\n"] {
        assert_eq!(folder.keys("lines", format!("a\n{longest}{end}"), &[])[1], longest);
    }
    let failure = folder.failure("lines", format!("a\n{longest}kkk"), &[]);
    assert!(matches!(&failure, Failure::Input(InputError::LineTooLong { line: 2, .. })), "{failure}");
}

#[test]
fn columns_go_by_name_and_by_number() {
    let folder = Folder::new();
    let content = "id,name,note\n7,\"x, y\",\n8,\"say \"\"so\"\"\",n\n";
    let pairs = |flags: &[&str]| folder.read("rows.csv", content, flags).unwrap();
    let owned = |pairs: [(&str, &str); 2]| pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    assert_eq!(pairs(&[]), (KeyType::U64, owned([("7", "x, y\t"), ("8", "say \"so\"\tn")])));
    assert_eq!(pairs(&["--value", "name"]).1, owned([("7", "x, y"), ("8", "say \"so\"")]));
    assert_eq!(pairs(&["--key", "2", "--value", "1"]), (KeyType::Text, owned([("x, y", "7"), ("say \"so\"", "8")])));
    assert_eq!(folder.keys("rows.tsv", "a\tb\nk\tv\n", &["--key", "b"]), ["v"]);
    assert_eq!(folder.keys("rows.csv", "1,2\n3,4\n", &["--no-header", "--key", "2"]), ["2", "4"]);
}

#[test]
fn an_absent_column_is_named_with_those_that_are_there() {
    let folder = Folder::new();
    for flag in ["--key", "--value"] {
        let failure = folder.failure("rows.csv", "id,name\n1,x\n", &[flag, "nmae"]);
        assert!(matches!(failure, Failure::Input(InputError::NoSuchColumn { .. })));
        assert!(failure.to_string().contains("rows.csv has no column 'nmae'"), "{failure}");
        assert!(failure.hint().unwrap().contains("'id', 'name'"));
    }
    let failure = folder.failure("rows.csv", "1,x\n", &["--no-header", "--key", "3"]);
    assert!(failure.hint().unwrap().contains("from 1 to 2"));
}

#[test]
fn rows_that_break_the_rules_are_refused_with_their_line() {
    let folder = Folder::new();
    let failure = folder.failure("rows.csv", "a,b\n1,2\n3\n", &[]);
    assert!(failure.to_string().contains("line 3"), "{failure}");
    assert!(matches!(folder.failure("rows.csv", "", &[]), Failure::Input(InputError::Empty { .. })));
    let failure = folder.failure("rows.csv", "id\n1\nx\n", &["--key-type", "u64"]);
    assert!(failure.to_string().contains("record 2"), "{failure}");
}

#[test]
fn a_quote_that_never_closes_does_not_pull_the_file_into_memory() {
    let folder = Folder::new();
    let content = [b"id\n\"".to_vec(), vec![b'x'; (64 << 20) + (1 << 17)]].concat();
    let failure = folder.failure("rows.csv", content, &[]);
    assert!(matches!(failure, Failure::Input(InputError::RowTooLong { record: 1, .. })), "{failure}");
}

#[test]
fn a_quote_that_never_closes_is_an_error_wherever_it_opens() {
    let folder = Folder::new();
    for (content, line) in [
        ("id,name\n1,a\n2,\"b\n3,c\n", 3),
        ("id,name\n1,a\n2,\"b\n3,c", 3),
        ("id,name\n1,a\n2,\"", 3),
        ("id,name\n\"1,a\n2,b\n", 2),
        ("\"id,name\n1,a\n2,b\n", 1),
        ("\"id\n", 1),
        ("id\n1\n\"x", 3),
        ("\u{feff}id\n1\n\"2\n", 3),
        ("id\n1\n\"2\"\"\nx", 3),
    ] {
        for flags in [&["--key-type", "text"][..], &["--key-type", "text", "--no-header"]] {
            let failure = folder.failure("rows.csv", content, flags).to_string();
            let expected = format!("the row that starts in line {line} has an unclosed quote");
            assert!(failure.contains(&expected), "{content:?}: {failure}");
        }
    }
}

#[test]
fn the_last_row_ends_where_the_file_does() {
    let folder = Folder::new();
    let text = ["--key-type", "text", "--no-header"];
    for end in ["", "\n", "\r\n", "\r", "\n\n\n", "\r\n\r\n"] {
        for (rows, keys) in [
            ("a\nx", &["a", "x"][..]),
            ("\u{feff}a\nx", &["a", "x"]),
            ("a\n\"x\"", &["a", "x"]),
            ("x,y\nx,\"y\n\"", &["x", "x"]),
            ("x", &["x"]),
            ("a\"b", &["a\"b"]),
            ("\"a\nx\"", &["a\\nx"]),
        ] {
            let rows = format!("{rows}{end}");
            let (_, found) = folder.read("rows.csv", &rows, &text).unwrap();
            let found: Vec<String> = found.into_iter().map(|(key, _)| key).collect();
            assert_eq!(found, keys, "{rows:?}");
        }
        let failure = folder.failure("empty.csv", end, &text);
        assert!(matches!(failure, Failure::Input(InputError::Empty { .. })), "{end:?}: {failure}");
    }
    assert_eq!(folder.keys("rows.csv", "x\n", &["--key-type", "text"]), [""; 0]);
}

#[test]
fn made_up_values_have_the_width_asked_for() {
    let folder = Folder::new();
    let options = folder.options("keys.u64", sosd(&[1, 1, 2]), &["--payload", "13"]);
    let mut input = options.open(&options.schema(TypeSample::Start).unwrap()).unwrap();
    assert_eq!(input.facts().value_width, Some(13));
    let mut values = Vec::new();
    while let Some(record) = input.next().unwrap() {
        values.push(record.value.to_vec());
    }
    assert!(values.iter().all(|value| value.len() == 13));
    assert!(values[0] == values[1] && values[1] != values[2]);
}

#[test]
fn options_that_do_not_fit_the_file_are_wrong_usage() {
    let folder = Folder::new();
    for (name, flags) in [
        ("keys.u64", &["--key", "1"][..]),
        ("lines.txt", &["--value", "1", "--format", "lines"]),
        ("keys.u64", &["--key-type", "text"]),
    ] {
        let failure = folder.failure(name, sosd(&[1]), flags);
        assert_eq!(failure.exit_code(), 2, "{name} {flags:?}: {failure}");
    }
    #[cfg(not(feature = "parquet"))]
    assert_eq!(folder.failure("rows.parquet", "PAR1", &[]).exit_code(), 2);
}

#[test]
fn a_missing_file_and_a_directory_are_errors_with_a_hint() {
    let folder = Folder::new();
    let mut options = folder.options("lines", "", &[]);
    options.path = folder.0.path().join("nowhere");
    assert!(options.schema(TypeSample::Start).unwrap_err().hint().unwrap().contains("path"));
    options.path = folder.0.path().to_owned();
    assert!(
        options
            .open(&Schema::of_keys(KeyType::Text))
            .and_then(|mut input| input.next().map(|_| ()).map_err(Into::into))
            .is_err()
    );
}

#[cfg(feature = "parquet")]
mod parquet {
    //! Parquet files, written with the same crate.

    use super::*;
    use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    fn file() -> Vec<u8> {
        let schema = "message rows { required int64 id (UINT_64); required binary name (UTF8); required int64 delta; \
                      required boolean flag; optional binary raw; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut content = Vec::new();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(&mut content, schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let names = ["x", "y"].map(ByteArray::from);
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[7, -1], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[-3, 4], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<::parquet::data_type::BoolType>().write_batch(&[true, false], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&names[..1], Some(&[1, 0]), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        content
    }

    #[test]
    fn columns_keep_their_types() {
        let folder = Folder::new();
        let read = |flags: &[&str]| folder.read("rows.parquet", file(), flags).unwrap();
        let owned = |pairs: [(&str, &str); 2]| pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        assert_eq!(read(&["--value", "name"]), (KeyType::U64, owned([("7", "x"), ("18446744073709551615", "y")])));
        assert_eq!(read(&["--key", "name", "--value", "3"]), (KeyType::Text, owned([("x", "-3"), ("y", "4")])));
        assert_eq!(read(&["--key", "delta", "--value", "1"]).0, KeyType::I64);
        let twice = folder.failure("rows.parquet", file(), &["--key", "name", "--value", "name"]).to_string();
        assert!(twice.contains("column 'name' is named by --key and by --value"), "{twice}");
    }

    /// Numbers that stand for times and decimals are read as what they are, exactly in other units, or not at all.
    #[test]
    fn units_and_scales_are_kept() {
        let schema = "message rows { required int64 t (TIMESTAMP_MILLIS); required int64 d (DECIMAL(10,2)); }";
        let mut file = Vec::new();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer =
            SerializedFileWriter::new(&mut file, Arc::new(parse_message_type(schema).unwrap()), properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for number in [1_000, 125] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&[number], None, None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        let folder = Folder::new();
        for (key, key_type) in [("t", "time(ms)"), ("t", "date"), ("d", "i64"), ("d", "f64")] {
            let flags = ["--key", key, "--key-type", key_type];
            let failure = folder.failure("rows.parquet", &file, &flags).to_string();
            assert!(failure.contains("is not converted to"), "{key_type}: {failure}");
        }
        let read = |flags: &[&str]| folder.read("rows.parquet", &file, flags).unwrap();
        for (key, key_type, shown) in [
            ("t", "timestamp(s)", "1970-01-01T00:00:01"),
            ("t", "(timestamp(us)?)", "1970-01-01T00:00:01"),
            ("t", "text", "1970-01-01T00:00:01"),
            ("d", "decimal(10,4)", "1.2500"),
            ("d", "decimal(3,2)", "1.25"),
        ] {
            assert_eq!(read(&["--key", key, "--key-type", key_type, "--keys-only"]).1[0].0, shown);
        }
        for key_type in ["decimal(10,1)", "decimal(4,3)"] {
            let flags = ["--key", "d", "--key-type", key_type, "--keys-only"];
            let read = folder.read("rows.parquet", &file, &flags);
            assert_eq!(read.is_ok(), key_type == "decimal(4,3)", "{key_type}");
        }
        assert_eq!(read(&["--key", "t", "--value", "d"]).0, "timestamp(ms)".parse().unwrap());
        let failure = folder.failure("rows.parquet", &file, &["--key", "t", "--key-type", "i64", "--value", "d"]);
        assert!(failure.to_string().contains("timestamp(ms)"), "a number of which unit? {failure}");
    }

    #[test]
    fn what_is_no_key_is_refused_with_its_column() {
        let folder = Folder::new();
        let failure = folder.failure("rows.parquet", file(), &["--key", "raw"]).to_string();
        assert!(failure.contains("record 2") && failure.contains("'raw'"), "{failure}");
        let failure = folder.failure("rows.parquet", file(), &["--key", "nmae"]);
        assert!(failure.hint().unwrap().contains("'name'"));
    }

    #[test]
    fn damaged_files_are_refused() {
        let folder = Folder::new();
        let whole = file();
        for length in 0..whole.len() {
            // Some ends cut off nothing that is read; none may do worse than fail.
            let _ = folder.read("rows.parquet", &whole[..length], &[]);
        }
        assert!(matches!(folder.failure("rows.parquet", "PAR1", &[]), Failure::Input(InputError::Malformed { .. })));
    }
}

#[test]
fn a_file_that_changes_between_two_passes_is_told() {
    let folder = Folder::new();
    let options = folder.options("rows.csv", "id,n\n1,2\n", &["--scan-all"]);
    let schema = options.schema(TypeSample::Whole).unwrap();
    assert!(options.open(&schema).is_ok());
    folder.file("rows.csv", "n,id\n1,2\n3,4\n");
    let failure = options.open(&schema).map(drop).unwrap_err();
    assert!(failure.to_string().contains("it was changed while it was read"), "{failure}");
}

#[test]
fn the_type_of_durable_rows_takes_another_keyspace() {
    let wrong = |remedy: Option<&str>| InputError::WrongType {
        path: "rows.csv".into(),
        record: 7,
        line: Some(8),
        column: Some("v".into()),
        is_key: false,
        written: Some("2.5".into()),
        wanted: "u64".into(),
        remedy: remedy.map(Into::into),
    };
    let blamed = blame_durable_rows(wrong(Some("--type 'v=decimal(18,1)'")).into());
    let hint = blamed.hint().unwrap();
    assert!(hint.contains("--keyspace NAME --type 'v=decimal(18,1)'") && hint.contains("--skip-bad-rows"), "{hint}");
    assert!(blamed.to_string().contains("record 7 of rows.csv (line 8)"), "{blamed}");
    assert!(blame_durable_rows(wrong(None).into()).hint().unwrap().contains("'v=text'"));
}
