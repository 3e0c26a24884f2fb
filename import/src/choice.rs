//! The choice of what is imported, and under which names.

use crate::arguments::Arguments;
use crate::failure::{Failure, Result};
use crate::source::{LeftOut, Source};
use crate::unfinished;
use ogive_terminal::did_you_mean;
use std::collections::BTreeMap;

/// The keyspace in which stores of earlier versions keep types of keys.
const RESERVED: &str = "ogive";

/// Names that are given on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    only: Vec<String>,
    skip: Vec<String>,
    rename: BTreeMap<String, String>,
}

impl Choice {
    /// The choice of a command line.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a name that is renamed twice.
    pub(crate) fn of(arguments: &Arguments) -> Result<Self> {
        let mut rename = BTreeMap::new();
        for (old, new) in &arguments.rename {
            if rename.insert(old.clone(), new.clone()).is_some() {
                return Err(Failure::usage(format!("{old:?} is renamed twice"), "rename it once"));
            }
        }
        Ok(Self { only: arguments.only.clone(), skip: arguments.skip.clone(), rename })
    }

    /// Whether a part of the source is imported.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|given| given == name);
        (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.skip)
    }

    /// Whether only named parts are imported.
    pub(crate) fn is_partial(&self) -> bool {
        !self.only.is_empty()
    }

    /// The names of the keyspaces, in the order of what the source has.
    ///
    /// # Errors
    /// [`Failure::Usage`] for names that the source does not have, for two keyspaces of one name, and for names that no
    /// keyspace has.
    pub(crate) fn keyspaces(&self, source: &dyn Source) -> Result<Vec<String>> {
        let names: Vec<&str> = source.found().iter().map(|found| &*found.name).collect();
        for given in self.only.iter().chain(&self.skip) {
            if !source.names().contains(given) {
                return Err(unknown(given, source.names(), source.left_out()));
            }
        }
        for given in self.rename.keys() {
            if !names.contains(&&**given) {
                return Err(unknown(given, source.names(), source.left_out()));
            }
        }
        let mut keyspaces: Vec<String> = Vec::new();
        for name in names {
            let keyspace = self.rename.get(name).cloned().unwrap_or_else(|| name.to_owned());
            let is_reserved = keyspace == RESERVED || keyspace == unfinished::KEYSPACE;
            if is_reserved || keyspace.is_empty() || keyspace.starts_with("ogive.index") {
                let message = format!("a keyspace cannot be called {keyspace:?}");
                return Err(Failure::usage(message, format!("give it another name, as in --rename {name}=other")));
            }
            if keyspaces.contains(&keyspace) {
                let message = format!("two keyspaces would be called {keyspace:?}");
                return Err(Failure::usage(message, "give one of them another name, with --rename OLD=NEW"));
            }
            keyspaces.push(keyspace);
        }
        Ok(keyspaces)
    }
}

/// The failure on a name that is not there.
fn unknown(given: &str, names: &[String], left_out: &[LeftOut]) -> Failure {
    if names.iter().any(|name| name == given) {
        return Failure::usage(format!("{given:?} is renamed, and not imported"), "import it, or do not rename it");
    }
    if let Some(LeftOut { what, .. }) = left_out.iter().find(|left| left.name == given) {
        return Failure::usage(format!("{given:?} is left out: {what}"), "name what can be imported");
    }
    let hint = did_you_mean(given, names.iter().map(|name| &**name)).unwrap_or_else(|| match names {
        [] => "there is nothing to import".to_owned(),
        names => format!("there are {}", names.join(", ")),
    });
    Failure::usage(format!("the source has no {given:?}"), hint)
}
