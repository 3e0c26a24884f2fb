//! The systems under test: those of Ogive, and those that a program has added.

use anyhow::{Result, bail, ensure};

use super::ogive::{OGIVE, PLAIN, PLR, SEPARATED};
use super::system::StoreSystem;
use ogive_terminal::did_you_mean;

/// Systems by name.
#[derive(Debug, Clone)]
pub(super) struct Systems(Vec<&'static StoreSystem>);

impl Systems {
    /// Those of Ogive, and then `added` ones, whose names must be new.
    pub(super) fn with(added: &[&'static StoreSystem]) -> Result<Self> {
        let mut systems = vec![&OGIVE, &SEPARATED, &PLAIN, &PLR];
        for system in added {
            let name = system.name;
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            // The name is also that of the store's folder.
            ensure!(
                !name.is_empty() && name.bytes().all(is_plain),
                "store {name:?}: a name has lowercase letters, digits and hyphens"
            );
            ensure!(
                systems.iter().all(|other| other.name != name),
                "store {name:?}: there is a store of this name; choose another"
            );
            systems.push(system);
        }
        Ok(Self(systems))
    }

    /// All of them.
    pub(super) fn all(&self) -> &[&'static StoreSystem] {
        &self.0
    }

    /// Those of these names, each once; all without names.
    pub(super) fn chosen(&self, names: &[String]) -> Result<Vec<&'static StoreSystem>> {
        if names.is_empty() {
            return Ok(self.0.clone());
        }
        let mut chosen: Vec<&'static StoreSystem> = Vec::new();
        for name in names {
            let system = self.named(name)?;
            // Two of one name would work in one folder.
            if chosen.iter().all(|other| other.name != system.name) {
                chosen.push(system);
            }
        }
        Ok(chosen)
    }

    /// The one of a name.
    pub(super) fn named(&self, name: &str) -> Result<&'static StoreSystem> {
        if let Some(system) = self.0.iter().find(|system| system.name == name) {
            return Ok(system);
        }
        let names: Vec<&str> = self.0.iter().map(|system| system.name).collect();
        let suggestion = did_you_mean(name, names.iter().copied());
        let suggestion = suggestion.map_or_else(String::new, |suggestion| format!("; {suggestion}"));
        bail!("no store {name:?} among {}{suggestion}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: StoreSystem = StoreSystem {
        name: "other",
        settings: |_| String::new(),
        reads_directly: false,
        open: |_, _| bail!("it is never opened"),
    };

    #[test]
    fn added_systems_come_last_and_their_names_are_new_and_plain() -> Result<()> {
        let systems = Systems::with(&[&OTHER])?;
        assert_eq!(systems.all().last().map(|system| system.name), Some("other"));
        assert_eq!(systems.named("ogive")?.name, "ogive");
        assert!(Systems::with(&[&OTHER, &OTHER]).is_err() && Systems::with(&[&OGIVE]).is_err());
        for name in ["", "Other", "../other"] {
            let system: &'static StoreSystem = Box::leak(Box::new(StoreSystem { name, ..OTHER }));
            assert!(Systems::with(&[system]).is_err(), "{name:?}");
        }
        Ok(())
    }

    #[test]
    fn each_name_is_taken_once_and_a_wrong_one_leads_to_the_right_one() -> Result<()> {
        let systems = Systems::with(&[])?;
        assert_eq!(systems.chosen(&[])?.len(), systems.all().len());
        assert_eq!(systems.chosen(&["ogive".into(), "ogive-plr".into(), "ogive".into()])?.len(), 2);
        let error = systems.named("ogiv").map(|system| system.name).unwrap_err().to_string();
        assert!(error.contains("did you mean \"ogive\"") && error.contains("ogive-separated"), "{error}");
        Ok(())
    }
}
