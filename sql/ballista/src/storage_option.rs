//! Options of object stores on the command line.

use ogive_object_store::ObjectOptions;
use std::str::FromStr;
use std::time::Duration;

/// An option of the object stores behind URLs, as `--storage-option KEY=VALUE` gives it.
#[derive(Clone, PartialEq, Eq)]
pub struct StorageOption {
    name: String,
    value: String,
}

/// The value may be a secret.
impl std::fmt::Debug for StorageOption {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl FromStr for StorageOption {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("give it as KEY=VALUE")?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

impl StorageOption {
    /// Tells of requests that an object store keeps waiting, with no two lines within `every`.
    pub fn tell_waiting(every: Duration, tell: impl Fn(&str) + Send + Sync + 'static) {
        ogive_object_store::report_waiting_calls(every, move |call| tell(&call.to_string()));
    }

    /// Opens the URLs of object stores with these options, in place of those of an earlier call.
    pub fn register(options: &[Self]) {
        let options = options.iter().fold(ObjectOptions::default(), |all, it| all.value(&it.name, &it.value));
        ogive_object_store::register_with(&options);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::io::locate;
    use ogive::{Cause, Error};
    use std::path::Path;

    #[test]
    fn options_have_a_name_and_are_not_shown() {
        let option: StorageOption = "secret_access_key=a=b".parse().unwrap();
        assert_eq!(option.value, "a=b");
        assert_eq!(format!("{option:?}"), "secret_access_key");
        for wrong in ["", "region", "=x"] {
            assert!(wrong.parse::<StorageOption>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn urls_are_opened_with_them() {
        StorageOption::register(&["no_such=1".parse().unwrap()]);
        let opened = locate(Path::new("s3://options-of-a-test/a.ogive"));
        ogive_object_store::register();
        assert!(
            matches!(&opened, Err(error @ Error { cause: Cause::Input, .. }) if error.detail().contains("no_such"))
        );
        assert!(locate(Path::new("s3://options-of-a-test/a.ogive")).is_ok());
    }
}
