//! Types of columns of Parquet: those that an index beside the file and Python find. Method: files of drawn columns,
//! with hints of their writer and without; whole runs on them.

use super::run::Folder;
use arrow_array::types::{
    Date64Type, DurationMicrosecondType, Time32SecondType, Time64MicrosecondType, TimestampMillisecondType,
    TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Decimal128Array, Int64Array, NullArray, PrimitiveArray, RecordBatch,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use std::sync::Arc;

fn write(folder: &Folder, name: &str, fields: Vec<(Field, ArrayRef)>, is_hinted: bool) {
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = fields.into_iter().unzip();
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let file = std::fs::File::create(folder.path(name)).unwrap();
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(!is_hinted);
    let mut writer = ArrowWriter::try_new_with_options(file, rows.schema(), options).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
}

fn numbers<T: ArrowPrimitiveType>(numbers: [T::Native; 2]) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values(numbers))
}

/// Rows with a key `id` and a column `x`.
fn rows(x: ArrayRef) -> Vec<(Field, ArrayRef)> {
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let x_field = Field::new("x", x.data_type().clone(), true);
    vec![(Field::new("id", DataType::Int64, false), id), (x_field, x)]
}

#[test]
fn what_has_no_type_in_an_index_has_none_in_a_table() {
    let folder = Folder::new();
    write(&folder, "d.parquet", rows(numbers::<DurationMicrosecondType>([7, -1])), true);
    let build = |flags: &[&str]| folder.run(&[&["build", "d.parquet", "-o", "t.ogive", "--force"][..], flags].concat());
    for flags in [&[][..], &["--key", "x"], &["--type", "x=timestamp(us)"], &["--type", "x=u64"]] {
        let run = build(flags).exits_with(1).complains_of("column 'x' is Duration");
        run.complains_of("i64");
    }
    folder
        .run(&["build", "d.parquet", "-o", "d.idx", "--external", "--key", "x"])
        .exits_with(1)
        .complains_of("Duration");
    folder
        .run(&["join", "d.parquet", "d.parquet", "--left-key", "x", "-o", "-"])
        .exits_with(1)
        .complains_of("Duration");
    folder.run(&["db", "import", "s", "d.parquet"]).exits_with(1).complains_of("Duration");
    build(&["--value", "id", "--key", "id", "--keys-only"]).exits_with(2);
    build(&["--key", "id", "--keys-only"]).exits_with(0);
    build(&["--type", "x=i64"]).exits_with(0);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("1\t7\n2\t-1\n");
    // Without the hint of the writer they are integers, for all.
    write(&folder, "d.parquet", rows(numbers::<DurationMicrosecondType>([7, -1])), false);
    build(&["--key", "x"]).exits_with(0);
    folder.run(&["build", "d.parquet", "-o", "d.idx", "--external", "--key", "x"]).exits_with(0);
    let periods = Field::new("x", DataType::Int64, true);
    let periods = periods.with_metadata([("ARROW:extension:name".to_owned(), "pandas.period".to_owned())].into());
    let mut columns = rows(numbers::<arrow_array::types::Int64Type>([7, -1]));
    columns[1].0 = periods;
    write(&folder, "d.parquet", columns, true);
    build(&[]).exits_with(1).complains_of("column 'x' is period of pandas");
}

#[test]
fn a_column_of_nulls_alone_has_a_type_only_if_one_is_given() {
    let folder = Folder::new();
    for is_hinted in [true, false] {
        write(&folder, "n.parquet", rows(Arc::new(NullArray::new(2))), is_hinted);
        let build = ["build", "n.parquet", "-o", "t.ogive", "--force"];
        for flags in [&[][..], &["--key", "x"]] {
            let run = folder.run(&[&build[..], flags].concat()).exits_with(1);
            run.complains_of("column 'x' has neither values nor a type").complains_of("--type 'x=text?'");
        }
        folder.run(&[&build[..], &["--type", "x=text?"]].concat()).exits_with(0);
        folder.run(&["export", "t.ogive", "-"]).exits_with(0).prints("id,x\n1,\n2,\n");
        folder.run(&[&build[..], &["--type", "x=i64"]].concat()).exits_with(1).complains_of("a null in record 1");
    }
}

#[test]
fn types_are_those_of_an_index_beside_the_file() {
    let folder = Folder::new();
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let large = arrow_cast::cast(&text, &DataType::LargeUtf8).unwrap();
    let words = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let coded = arrow_cast::cast(&text, &words).unwrap();
    let bytes = arrow_cast::cast(&text, &DataType::BinaryView).unwrap();
    for (x, hinted, plain) in [
        (text, "text", "text"),
        (large, "text", "text"),
        (coded, "text", "text"),
        (bytes, "bytes", "bytes"),
        (numbers::<Date64Type>([0, 86_400_000]), "timestamp(ms)", "i64"),
        (numbers::<TimestampSecondType>([0, 1]), "timestamp(s)", "i64"),
        (numbers::<Time32SecondType>([0, 1]), "time(s)", "i32"),
        (numbers::<arrow_array::types::UInt8Type>([0, 255]), "u8", "u8"),
        (numbers::<arrow_array::types::UInt32Type>([0, u32::MAX]), "u32", "u32"),
    ] {
        for (is_hinted, expected) in [(true, hinted), (false, plain)] {
            write(&folder, "x.parquet", rows(x.clone()), is_hinted);
            folder.run(&["build", "x.parquet", "-o", "t.ogive", "--key", "x", "--force"]).exits_with(0);
            folder.run(&["build", "x.parquet", "-o", "x.idx", "--key", "x", "--external", "--force"]).exits_with(0);
            let key_type =
                |file: &str| folder.run(&["explain", file, "--json"]).exits_with(0).json()["key_type"].clone();
            let (of_table, of_index) = (key_type("t.ogive"), key_type("x.idx"));
            assert_eq!(of_table, of_index, "{} {is_hinted}", x.data_type());
            assert_eq!(of_table, expected, "{} {is_hinted}", x.data_type());
        }
    }
}

#[test]
fn time_zones_that_are_not_kept_are_told() {
    let folder = Folder::new();
    for (zone, is_told) in [("Europe/Berlin", true), ("UTC", false)] {
        let x = PrimitiveArray::<TimestampMillisecondType>::from(vec![0, 1]).with_timezone(zone);
        write(&folder, "x.parquet", rows(Arc::new(x)), true);
        let built = folder.run(&["build", "x.parquet", "-o", "t.ogive", "--force"]).exits_with(0);
        assert_eq!(built.stderr.contains("column 'x' has the time zone Europe/Berlin"), is_told, "{}", built.stderr);
    }
}

#[test]
fn columns_of_integers_and_floats_are_floats_where_that_is_asked_for() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("of")).unwrap();
    write(&folder, "of/a.parquet", rows(Arc::new(Int64Array::from(vec![Some(1), None]))), true);
    write(&folder, "of/b.parquet", rows(numbers::<arrow_array::types::Float64Type>([0.5, 2.0])), true);
    let refused = folder.run(&["build", "of", "-o", "t.ogive"]).exits_with_error();
    refused.complains_of("--type 'x=f64?'");
    let built = folder.run(&["build", "of", "-o", "t.ogive", "--type", "x=f64?"]).exits_with(0);
    assert!(built.stdout.contains("i64 -> {x: f64?}"), "{}", built.stdout);
}

#[test]
fn times_are_no_numbers_of_units_that_only_the_file_knows() {
    let folder = Folder::new();
    for (x, natural) in [
        (numbers::<TimestampSecondType>([0, 1]), "timestamp(s)"),
        (numbers::<Time32SecondType>([0, 1]), "time(s)"),
        (numbers::<arrow_array::types::TimestampNanosecondType>([0, 1]), "timestamp(ns)"),
    ] {
        write(&folder, "x.parquet", rows(x), true);
        let build = |flags: &[&str]| folder.run(&[&["build", "x.parquet", "-o", "t", "--force"][..], flags].concat());
        for numbers in ["x=i64", "x=u64", "x=i32"] {
            build(&["--type", numbers]).exits_with(1).complains_of(&format!("write {natural}"));
        }
        build(&["--key", "x", "--key-type", "i64"]).exits_with(1).complains_of(&format!("write {natural}"));
        build(&["--type", &format!("x={natural}")]).exits_with(0);
    }
    write(&folder, "x.parquet", rows(numbers::<arrow_array::types::Date32Type>([0, 7])), true);
    folder.run(&["build", "x.parquet", "-o", "t", "--force", "--type", "x=i64"]).exits_with(0);
    folder.run(&["scan", "t"]).exits_with(0).prints("1\t0\n2\t7\n");
}

#[test]
fn uuids_are_their_text_in_keys_and_values_of_text() {
    let folder = Folder::new();
    let text = "12345678-1234-1234-1234-123456781234";
    folder.write("u.csv", format!("k,v\n{text},{text}\n"));
    folder.build("u.csv", "u.ogive", &["--key-type", "uuid", "--type", "v=uuid"]);
    folder.run(&["export", "u.ogive", "u.parquet"]).exits_with(0);
    folder.run(&["build", "u.parquet", "-o", "t", "--key-type", "text", "--type", "v=text"]).exits_with(0);
    folder.run(&["scan", "t"]).exits_with(0).prints(&format!("{text}\t{text}\n"));
    let single = ["build", "u.parquet", "-o", "one", "--key", "k", "--key-type", "text", "--value-type", "text"];
    folder.run(&single).exits_with(0);
    folder.run(&["get", "one", text]).exits_with(0).prints(&format!("{text}\n"));
    folder.write("pair.csv", format!("a,k\n1,{text}\n"));
    folder.build("pair.csv", "pair.ogive", &["--key-type", "(i64, uuid)", "--key", "a", "--key", "k"]);
    folder.run(&["export", "pair.ogive", "pair.parquet"]).exits_with(0);
    let pair = ["build", "pair.parquet", "-o", "p", "--key", "a", "--key", "k", "--key-type", "(i64, text)"];
    folder.run(&pair).exits_with(0);
    folder.run(&["scan", "p", "--json"]).exits_with(0).prints(&format!("{{\"a\":1,\"k\":\"{text}\"}}\n"));
    // Bytes are the sixteen of it nowhere, as in Python.
    for bytes in ["bytes", "bytes16"] {
        let run = folder.run(&["build", "u.parquet", "-o", "t", "--force", "--key-type", bytes]);
        run.exits_with(1).complains_of("uuid");
    }
}

#[test]
fn the_advice_to_read_text_helps_for_every_type() {
    let folder = Folder::new();
    let decimals: ArrayRef = Arc::new(Decimal128Array::from(vec![150, -25]).with_precision_and_scale(9, 2).unwrap());
    for (x, asked, text) in [
        (numbers::<TimestampMillisecondType>([1, 1500]), "timestamp(s)", "1970-01-01T00:00:01.5"),
        (numbers::<Time64MicrosecondType>([1, 1_500_000]), "time(s)", "00:00:01.5"),
        (decimals, "decimal(9,0)", "-0.25"),
    ] {
        write(&folder, "x.parquet", rows(x), true);
        let build = |of: &str| {
            let of = format!("x={of}");
            folder.run(&["build", "x.parquet", "-o", "t", "--force", "--type", &of])
        };
        build(asked).exits_with(1).complains_of("such as --type 'x=text'");
        build("text").exits_with(0);
        folder.run(&["get", "t", "2"]).exits_with(0).prints(&format!("{text}\n"));
    }
}
