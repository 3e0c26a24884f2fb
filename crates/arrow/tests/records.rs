//! Tests of rows as records. Goal: the length of records is known before they are made, and columns of nulls alone are
//! told. Method: columns of every form of text, and of nulls.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrow_array::{
    ArrayRef, BinaryViewArray, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray, new_null_array,
};
use arrow_schema::DataType;
use ogive::KeyType;
use ogive::types::{KeyColumn, RecordType, ValueType};
use ogive_arrow::{RecordEncoder, longest_record_bytes};
use std::sync::Arc;

#[test]
fn no_record_is_longer_and_it_is_hardly_more() {
    let texts = || [Some("a"), None, Some("of twenty-two characters"), Some("")];
    let columns: [ArrayRef; 4] = [
        Arc::new(StringArray::from_iter(texts())),
        Arc::new(LargeStringArray::from_iter(texts())),
        Arc::new(StringViewArray::from_iter(texts())),
        Arc::new(BinaryViewArray::from_iter(texts().map(|text| text.map(str::as_bytes)))),
    ];
    for column in columns {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..4));
        let batch = RecordBatch::try_from_iter_with_nullable([("k", keys, false), ("v", column, true)]).unwrap();
        let mut longest = 0;
        let encoder = RecordEncoder::new(&batch.schema(), &["k".to_owned()], None).unwrap();
        let visit = |key: &[u8], value: &[u8]| {
            longest = longest.max((key.len() + value.len()) as u64);
            Ok(())
        };
        encoder.visit(&batch, visit).unwrap();
        let found = longest_record_bytes(&[batch]);
        assert!((longest..longest + 24).contains(&found), "{found} for {longest}");
    }
    assert_eq!(longest_record_bytes(&[]), 0);
}

#[test]
fn a_column_of_nulls_alone_has_no_type_unless_it_is_stated() {
    let nulls: ArrayRef = new_null_array(&DataType::Null, 2);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let columns = [("number", numbers, false), ("none", nulls, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    for key in ["number", "none"] {
        let refused = RecordEncoder::new(&batch.schema(), &[key.to_owned()], None).unwrap_err().to_string();
        assert!(refused.starts_with("column 'none' is null in every row"), "{refused}");
    }
    let types = RecordType::new(KeyType::I64, "{none: text?}".parse::<ValueType>().unwrap());
    let types = types.key_columns(vec![KeyColumn { name: "number".to_owned(), position: 0 }]);
    let mut found = Vec::new();
    let encoder = RecordEncoder::of_types(&batch.schema(), &types).unwrap();
    let visit = |_: &[u8], value: &[u8]| {
        found.push(types.values.display(value));
        Ok(())
    };
    encoder.visit(&batch, visit).unwrap();
    assert_eq!(found, ["", ""]);
}
