//! Random conditions on the key and other columns.

use crate::relations::{component, pick};
use ogive::types::KeyType;
use ogive_testkit::Random;

/// Random conditions of a key type.
pub(crate) struct Conditions {
    pub(crate) key_type: KeyType,
    /// The table's name in front of columns, with a dot, or nothing.
    pub(crate) prefix: &'static str,
}

impl Conditions {
    fn components(&self) -> Vec<KeyType> {
        match self.key_type {
            KeyType::Tuple(tuple) => tuple.components().map(|component| component.key_type).collect(),
            key_type => vec![key_type],
        }
    }

    fn is_text(key_type: KeyType) -> bool {
        matches!(key_type, KeyType::Text)
    }

    /// A condition on a column of the key.
    fn on_key(&self, random: &mut Random) -> String {
        let components = self.components();
        let at = random.below(components.len() as u64) as usize;
        let key_type = components[at];
        let column = format!("{}{}", self.prefix, if at == 0 { "key" } else { "part" });
        // The second components are small numbers, and so are the first ones of tuples.
        let most = if at == 1 {
            8
        } else if components.len() > 1 {
            30
        } else {
            130
        };
        let literal = |random: &mut Random| component(key_type, random.below(most)).1;
        match random.below(10) {
            0 | 1 => format!("{column} = {}", literal(random)),
            2 => format!("{} >= {column}", literal(random)),
            3 => format!("{column} > {}", literal(random)),
            4 => format!("{column} between {} and {}", literal(random), literal(random)),
            5 => {
                // Long lists are planned as one value.
                let count = if random.one_in(3) { 16 + random.below(30) } else { 1 + random.below(6) };
                let list: Vec<String> = (0..count).map(|_| literal(random)).collect();
                format!("{column} in ({})", list.join(", "))
            }
            6 if Self::is_text(key_type) => format!("{column} like 'k{}%'", random.below(12)),
            7 if Self::is_text(key_type) => format!("starts_with({column}, 'k0{}')", random.below(10)),
            8 => format!("{column} is {}null", pick(random, &["", "not "])),
            _ => format!("{column} <= {}", literal(random)),
        }
    }

    /// Any condition.
    pub(crate) fn one(&self, random: &mut Random) -> String {
        let prefix = self.prefix;
        match random.below(12) {
            0 => format!("{prefix}number % {} = 0", 2 + random.below(3)),
            1 => format!("({} or {})", self.on_key(random), self.on_key(random)),
            2 => format!("(({} and {}) or {})", self.on_key(random), self.on_key(random), self.on_key(random)),
            3 => format!("not ({})", self.on_key(random)),
            4 => format!("{prefix}name is null"),
            _ => self.on_key(random),
        }
    }

    /// Up to three conditions, with `where` in front, or nothing.
    pub(crate) fn filter(&self, random: &mut Random) -> String {
        let conditions: Vec<String> = (0..random.below(4)).map(|_| self.one(random)).collect();
        if conditions.is_empty() { String::new() } else { format!("where {}", conditions.join(" and ")) }
    }
}
