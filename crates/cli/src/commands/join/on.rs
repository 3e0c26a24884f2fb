//! The columns that a join compares: as given by `--on`, or those that both inputs name.

use super::arguments::{OnColumns, SideOptions, quoted};
use crate::failure::{Failure, Result};
use crate::input::{Column, is_like_value};
use crate::values::size::counted;
use std::fmt;

/// The columns that an input can be joined by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SideColumns {
    /// It has a key, whose columns have these names, or none.
    Keyed(Vec<String>),
    /// It has this number of columns without names.
    Unnamed(usize),
    /// It has columns of these names.
    Named(Vec<String>),
}

/// The columns that are compared, of each side; none of a key without names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JoinedOn {
    aliases: [String; 2],
    columns: [Vec<String>; 2],
}

impl JoinedOn {
    /// The columns of one side.
    pub(super) fn columns(&self, side: usize) -> &[String] {
        &self.columns[side]
    }

    /// Chooses the columns of each side.
    ///
    /// # Errors
    /// [`Failure::Usage`] if they are not clear, or not those of a key.
    pub(super) fn choose(sides: [&SideOptions; 2], columns: [SideColumns; 2], on: &OnColumns) -> Result<Self> {
        let given = |side: usize| -> Vec<String> { sides[side].input.key.iter().map(|key| key.0.clone()).collect() };
        let known = [0, 1].map(|side| match (&columns[side], given(side)) {
            (SideColumns::Named(names), given) if given.is_empty() => {
                SideColumns::Named(candidates(sides[side], names))
            }
            (columns, given) if given.is_empty() => columns.clone(),
            (_, given) => SideColumns::Keyed(given),
        });
        let chosen = if on.0.is_empty() {
            found(sides, &known)?
        } else {
            let on = [0, 1].into_iter().fold(on.clone(), |on, side| match &columns[side] {
                SideColumns::Keyed(names) => on.in_order_of(side, names),
                _ => on,
            });
            [0, 1].iter().try_for_each(|&side| check(sides[side], [&columns[side], &columns[1 - side]], side, &on))?;
            [on.of_side(0), on.of_side(1)]
        };
        let [left, right] = &chosen;
        if left.len() != right.len() && !left.is_empty() && !right.is_empty() {
            let [one, other] = sides.map(SideOptions::shown);
            return Err(Failure::usage(
                format!("{one} is joined by {}, and {other} by {}", listed(left), listed(right)),
                "name as many columns of both with --on, as in --on 'a=b,c=d'",
            ));
        }
        let mut aliases = sides.map(SideOptions::alias);
        if aliases[0] == aliases[1] {
            aliases = sides.map(|side| side.word.to_owned());
        }
        Ok(Self { aliases, columns: chosen })
    }

    /// Sets the columns of the keys of a file.
    pub(super) fn apply(&self, side: usize, options: &mut SideOptions, columns: &SideColumns) {
        if options.input.key.is_empty() && !matches!(columns, SideColumns::Keyed(_)) {
            options.input.key = self.columns[side].iter().cloned().map(Column).collect();
        }
    }
}

impl fmt::Display for JoinedOn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [left, right] = &self.columns;
        let shown = |alias: &str, name: Option<&String>| match name {
            Some(name) => format!("{alias}.{name}"),
            None => alias.to_owned(),
        };
        for index in 0..left.len().max(right.len()).max(1) {
            let (start, [one, other]) = (if index == 0 { "joined " } else { " and " }, &self.aliases);
            write!(formatter, "{start}{} = {}", shown(one, left.get(index)), shown(other, right.get(index)))?;
        }
        Ok(())
    }
}

/// The columns of a file that may be compared: those that are not chosen as values.
fn candidates(side: &SideOptions, names: &[String]) -> Vec<String> {
    let is_value = |(index, name): (usize, &String)| {
        side.input.value.iter().any(|column| column.0 == *name || column.0 == (index + 1).to_string())
    };
    let kept = names.iter().enumerate().filter(|&column| !is_value(column));
    kept.map(|(_, name)| name.clone()).collect()
}

/// Refuses columns that are not those of a key.
fn check(side: &SideOptions, [columns, others]: [&SideColumns; 2], index: usize, on: &OnColumns) -> Result<()> {
    let wanted = on.of_side(index);
    let SideColumns::Keyed(names) = columns else { return Ok(()) };
    // A key without names needs none.
    let is_key = if names.is_empty() { wanted.len() == 1 } else { *names == wanted };
    if is_key {
        return Ok(());
    }
    let (alias, by) = (side.shown(), if names.is_empty() { "its key".to_owned() } else { listed(names) });
    let is_named_there = |name: &String| matches!(others, SideColumns::Named(all) if all.contains(name));
    // Of columns that the other side names alike, none of the given pairs is needed.
    let kept = if !names.is_empty() && names.iter().all(is_named_there) { &[][..] } else { &on.0[..] };
    let given = kept.iter().enumerate().map(|(at, pair)| pair_with(pair, index, names.get(at)));
    let pairs: Vec<String> = given.chain(names.iter().skip(kept.len()).map(|name| quoted(name))).collect();
    Err(Failure::usage(
        format!("{alias} is joined by {by}, not by {}", listed(&wanted)),
        format!("give --on '{}', or export it to a file to join it by other columns", pairs.join(",")),
    ))
}

fn pair_with(pair: &[String; 2], index: usize, name: Option<&String>) -> String {
    let mut pair = pair.clone().map(|name| quoted(&name));
    if let Some(name) = name {
        pair[index] = quoted(name);
    }
    if pair[0] == pair[1] { pair[0].clone() } else { pair.join("=") }
}

/// The columns of each side where none are given.
fn found(sides: [&SideOptions; 2], columns: &[SideColumns; 2]) -> Result<[Vec<String>; 2]> {
    use SideColumns::{Keyed, Named, Unnamed};
    let beside =
        |keys: &[String], names: &[String]| match !keys.is_empty() && keys.iter().all(|key| names.contains(key)) {
            true => keys.to_vec(),
            false => names[..names.len().min(1)].to_vec(),
        };
    let first = || "1".to_owned();
    Ok(match columns {
        [Keyed(one), Keyed(other)] => [one.clone(), other.clone()],
        [Keyed(keys), Named(names)] => [keys.clone(), beside(keys, names)],
        [Named(names), Keyed(keys)] => [beside(keys, names), keys.clone()],
        [Keyed(keys), Unnamed(0 | 1)] => [keys.clone(), vec![first()]],
        [Unnamed(0 | 1), Keyed(keys)] => [vec![first()], keys.clone()],
        [Unnamed(0 | 1), Unnamed(0 | 1)] => [vec![first()], vec![first()]],
        [Unnamed(0 | 1), Named(names)] => [vec![first()], beside(&[], names)],
        [Named(names), Unnamed(0 | 1)] => [beside(&[], names), vec![first()]],
        [Named(one), Named(other)] => {
            let common: Vec<&String> = one.iter().filter(|name| other.contains(name)).collect();
            match common[..] {
                [name] => [vec![name.clone()], vec![name.clone()]],
                _ => return Err(unclear(sides, [one, other], &common)),
            }
        }
        [Unnamed(count), _] => return Err(nameless(sides[0], *count)),
        [_, Unnamed(count)] => return Err(nameless(sides[1], *count)),
    })
}

fn unclear(sides: [&SideOptions; 2], names: [&[String]; 2], common: &[&String]) -> Failure {
    let [left, right] = sides.map(SideOptions::shown);
    let headers = format!("{left} has the columns {}; {right} has {}", listed(names[0]), listed(names[1]));
    let shown = |name: Option<&String>| name.map_or_else(|| "COL".to_owned(), |name| quoted(name));
    let (what, example) = match common {
        [] => ("none has the same name", format!("{}={}", shown(names[0].first()), shown(names[1].first()))),
        [first, ..] => ("several have the same name", quoted(first)),
    };
    let mut hint = format!("say which are compared with --on, as in --on '{example}'; --on 'a=b,c=d' compares several");
    if names.iter().any(|names| names.iter().any(|name| is_like_value(name))) {
        hint.push_str("; --no-header --on 1 reads first lines without names as rows, and compares the first columns");
    }
    Failure::usage(format!("{headers}: {what}"), hint)
}

fn nameless(side: &SideOptions, count: usize) -> Failure {
    Failure::usage(
        format!("{} has {} without names", side.shown(), counted(count as u64, "column")),
        "say which is compared with --on, as in --on 1, or --on '2=id' if the other input has names",
    )
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::arguments::JoinArguments;
    use super::*;
    use clap::Parser;

    #[derive(Debug, clap::Parser)]
    struct Joining {
        #[command(flatten)]
        join: JoinArguments,
    }

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn on(text: &str) -> OnColumns {
        text.parse().unwrap_or_default()
    }

    #[test]
    fn columns_of_both_sides_are_separated_by_commas() {
        let sides = |text: &str| [on(text).of_side(0), on(text).of_side(1)];
        assert_eq!(sides("a"), [names("a"), names("a")]);
        assert_eq!(sides("a=b"), [names("a"), names("b")]);
        assert_eq!(sides("a, c = d"), [names("a c"), names("a d")]);
        let quoted = on("\"x,y\" = \"p=q\",\"\"\"\",a=\"b\"");
        assert_eq!((quoted.of_side(0), quoted.of_side(1)), (names("x,y \" a"), names("p=q \" b")));
    }

    #[test]
    fn files_are_joined_by_what_both_name() {
        use SideColumns::{Keyed, Named, Unnamed};
        let command = ["ogive", "a.csv", "b.csv", "-o", "c"];
        let sides = Joining::parse_from(command).join.sides();
        let chosen = |columns: [SideColumns; 2], given: &str| {
            let on = if given.is_empty() { OnColumns::default() } else { on(given) };
            JoinedOn::choose([&sides[0], &sides[1]], columns, &on).map(|joined| joined.to_string())
        };
        let named = |text: &str| Named(names(text));
        let keyed = |text: &str| Keyed(names(text));
        for (columns, given, joined) in [
            ([named("id day"), named("name id")], "", "joined a.id = b.id"),
            ([named("id day"), named("id day")], "id,day", "joined a.id = b.id and a.day = b.day"),
            ([named("id day"), named("key")], "id=key", "joined a.id = b.key"),
            ([keyed("id"), named("day id")], "", "joined a.id = b.id"),
            ([named("x y"), keyed("p q")], "y=q,x=p", "joined a.x = b.p and a.y = b.q"),
            ([keyed("a b"), named("b a")], "b,a", "joined a.a = b.a and a.b = b.b"),
            ([named("day x"), keyed("id")], "", "joined a.day = b.id"),
            ([keyed(""), named("day id")], "", "joined a = b.day"),
            ([keyed("x"), keyed("")], "", "joined a.x = b"),
            ([keyed(""), Unnamed(1)], "", "joined a = b.1"),
            ([keyed("a b"), named("b a c")], "", "joined a.a = b.a and a.b = b.b"),
            ([keyed("id"), named("x y")], "id=y", "joined a.id = b.y"),
            ([Unnamed(3), named("x y")], "2=x", "joined a.2 = b.x"),
        ] {
            assert_eq!(chosen(columns.clone(), given).unwrap(), joined, "{columns:?} {given}");
        }
        for (columns, given, part) in [
            ([named("id"), named("key")], "", "'id'; b.csv has 'key': none has the same name"),
            ([named("id a"), named("a id")], "", "several have the same name"),
            ([Unnamed(2), named("x")], "", "a.csv has 2 columns without names"),
            ([keyed("id"), Unnamed(2)], "", "b.csv has 2 columns without names"),
            ([keyed("id"), named("x")], "x", "a.csv is joined by 'id', not by 'x'"),
            ([keyed(""), named("x y")], "x,y", "joined by its key"),
        ] {
            let message = chosen(columns.clone(), given).unwrap_err().to_string();
            assert!(message.contains(part), "{columns:?} {given}: {message}");
        }
    }
}
