//! A record as it was printed: its fields by name and in order.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::keys::spec::parse_count;
use crate::output::ERROR;

/// A record of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRow {
    fields: Vec<(String, Value)>,
}

impl RunRow {
    /// The fields in order.
    pub(crate) fn fields(&self) -> &[(String, Value)] {
        &self.fields
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// The experiment, or `machine`.
    pub(crate) fn experiment(&self) -> &str {
        self.field("experiment").and_then(Value::as_str).unwrap_or_default()
    }

    /// A field as a number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.field(name)?.as_f64()
    }

    /// A field as text; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        self.field(name).map(shown).unwrap_or_default()
    }

    /// Why its subject failed; `None` if it did not.
    pub(crate) fn error(&self) -> Option<String> {
        self.field(ERROR).map(shown)
    }

    /// Several fields as one name, without counts and seeds of key sets, and without empty fields.
    pub(crate) fn label(&self, names: &[&str]) -> String {
        let parts = names.iter().filter_map(|name| {
            let text = self.text(name);
            let text = if *name == "keys" { base_set(&text) } else { text };
            if *name == "resident_bytes" {
                return Some(if text == "all" { "all in memory".to_owned() } else { format!("{text} B in memory") });
            }
            let is_named = matches!(self.field(name), Some(Value::String(_)) | None);
            let name = name.strip_suffix("_percent").unwrap_or(name).replace('_', " ");
            (!text.is_empty()).then(|| if is_named { text } else { format!("{name} {text}") })
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// The name of a key set without its count and seed: `hardness:global=2:local=497` of
/// `hardness:10M:seed=1:global=2:local=497`. Sets of other options are other sets.
pub(crate) fn base_set(keys: &str) -> String {
    let mut fields = keys.split(':');
    let name = fields.next().unwrap_or(keys);
    let options = fields.filter(|field| parse_count(field).is_none() && !field.starts_with("seed="));
    options.fold(name.to_owned(), |name, option| format!("{name}:{option}"))
}

/// A value as people read it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(count), _) => crate::output::Figure::from(count).to_string(),
            (None, Some(number)) => crate::output::Figure::from(number).to_string(),
            (None, None) => number.to_string(),
        },
        Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

impl<'de> Deserialize<'de> for RunRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RunRow;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a record of an experiment")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RunRow, A::Error> {
                let mut row = RunRow::default();
                while let Some(field) = map.next_entry()? {
                    row.fields.push(field);
                }
                Ok(row)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}
