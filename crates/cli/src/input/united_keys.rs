//! The keys of two text inputs of a join, column by column: the narrowest types that fit those of both.

use super::options::InputOptions;
use super::schema::{ReadColumn, Schema, TypeSample, tuple_of};
use crate::failure::Result;
use crate::reading::standard_input::shown;
use ogive::KeyType;
use ogive::types::{Component, TupleType};
use ogive_text::{ColumnGuess, GuessedType};
use std::path::Path;

/// What is known of a column of a key of one input, whose type was guessed.
struct GuessedKey<'a> {
    /// The word for the input in options.
    word: &'static str,
    path: &'a Path,
    /// The names of all columns of the input.
    names: &'a [String],
    column: &'a ReadColumn,
    guess: &'a ColumnGuess,
}

impl Schema {
    /// Gives the keys of two text inputs, at these paths, the narrowest types that fit those of both, column by column.
    /// Where one type is given, it is that of both.
    pub(crate) fn unite_keys(schemas: &mut [Self; 2], paths: [&Path; 2]) {
        let [left, right] = schemas;
        if left.keys.len() != right.keys.len() {
            return;
        }
        let is_alone = left.keys.len() == 1;
        for index in 0..left.keys.len() {
            let (one, other) = (&mut left.keys[index], &mut right.keys[index]);
            match (left.guesses.get(index), right.guesses.get(index)) {
                (Some(Some(guess)), Some(Some(other_guess))) => {
                    let may_be_null = one.may_be_null || other.may_be_null;
                    let GuessedType { key_type, nullable, .. } = guess.with(other_guess).guessed(may_be_null);
                    let united = guess.united_with(other_guess);
                    let key_type = united.unwrap_or(key_type);
                    let keys = [
                        GuessedKey { word: "left", path: paths[0], names: &left.names, column: one, guess },
                        GuessedKey {
                            word: "right",
                            path: paths[1],
                            names: &right.names,
                            column: other,
                            guess: other_guess,
                        },
                    ];
                    for (side, remarks) in [&mut left.remarks, &mut right.remarks].into_iter().enumerate() {
                        // What was told of the column alone is no longer so.
                        let untrue = keys[side].untrue_remark(key_type);
                        remarks.retain(|remark| Some(remark) != untrue.as_ref());
                        remarks.extend(keys[side].remark_beside(&keys[1 - side]).filter(|_| united.is_none()));
                    }
                    // Whether there are zones stays as it was seen of each, and whether nulls are left out.
                    for column in [one, other] {
                        (column.key_type, column.is_united) = (key_type, united.is_some());
                        column.nullable = if is_alone { column.nullable } else { nullable };
                    }
                }
                (Some(Some(_)), _) => one.take_type(other, is_alone),
                (_, Some(Some(_))) => other.take_type(one, is_alone),
                _ => {}
            }
        }
        for schema in schemas {
            let key_type = match &schema.keys[..] {
                [key] => Some(key.key_type),
                keys => tuple_of(keys),
            };
            schema.record_type.keys = key_type.unwrap_or(schema.record_type.keys);
        }
    }
}

impl InputOptions {
    /// The type of the keys by all of them, without nulls: where they are numbers, one that holds each of them exactly;
    /// and where their values are not compared with those of the keys beside them, the type of these.
    ///
    /// # Errors
    /// Those of the input, and a tuple of too many components.
    pub(crate) fn own_key_type(&self, beside: KeyType) -> Result<KeyType> {
        let schema = self.schema(TypeSample::Whole)?;
        let exact = |guess: &ColumnGuess| guess.united_with(guess);
        let beside: Vec<KeyType> = match beside {
            KeyType::Tuple(tuple) => tuple.components().map(|component| component.key_type).collect(),
            key_type => vec![key_type],
        };
        let types = schema.keys.iter().zip(&schema.guesses).enumerate().map(|(at, (column, guess))| {
            let own = guess.as_ref().and_then(exact).unwrap_or(column.key_type);
            let other = beside.get(at).filter(|other| !own.is_comparable(**other));
            Component::new(other.copied().unwrap_or(own))
        });
        Ok(match &types.collect::<Vec<_>>()[..] {
            [component] => component.key_type,
            components => KeyType::Tuple(TupleType::new(components)?),
        })
    }
}

impl GuessedKey<'_> {
    /// What was told of the column, if it was guessed to be of another type than it is.
    fn untrue_remark(&self, key_type: KeyType) -> Option<String> {
        self.column.remark(self.guess, self.names).filter(|_| self.column.key_type != key_type)
    }

    /// Why the values of the column are text beside those of another one, and what reads them as numbers.
    fn remark_beside(&self, other: &Self) -> Option<String> {
        let shown_path = shown(self.path).to_string();
        let keys = match self.column.name.is_empty() {
            true => shown_path,
            false => format!("column '{}' of {shown_path}", self.column.name),
        };
        let may_be_null = self.column.may_be_null;
        let remark = self.guess.remark_with(&keys, other.guess, &shown(other.path).to_string(), may_be_null)?;
        let advice = other.guess.strings_beside(self.guess).map(|numbers| {
            let (word, name) = (other.word, &other.column.name);
            format!("; --{word}-type '{name}={numbers}' reads those strings as numbers")
        });
        Some(remark + &advice.unwrap_or_default())
    }
}

impl ReadColumn {
    /// Takes the type of another column, which is given. The only column of a key keeps its nulls: they are left out.
    fn take_type(&mut self, given: &mut Self, is_alone: bool) {
        given.is_united = true;
        self.nullable = given.nullable || (is_alone && self.nullable);
        (self.key_type, self.guessed, self.is_united) = (given.key_type, false, true);
    }
}
