//! What single structures can be told beyond the layout, and its stored form: a tag and eight bytes for each choice.

use super::alex::AlexOptions;
use super::fiting::FitingOptions;
use super::options::{IndexOptions, Kind};
use crate::error::{Error, Result};

/// The options of single structures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tunables {
    pub(super) fiting: FitingOptions,
    pub(super) alex: AlexOptions,
}

/// Which choices a kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// None.
    Plain,
    Fiting,
    Alex,
}

impl Family {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Fiting | Kind::FitingBtree => Self::Fiting,
            Kind::Alex | Kind::AlexBtree => Self::Alex,
            _ => Self::Plain,
        }
    }
}

impl Tunables {
    /// The tunables of a new index.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for values that make no sense.
    pub(super) fn new(options: &IndexOptions) -> Result<Self> {
        let tunables = Self { fiting: options.fiting, alex: options.alex };
        match tunables.nonsense(options.kind) {
            None => Ok(tunables),
            Some(detail) => Err(Error::InvalidArgument(format!("an index of kind {} takes {detail}", options.kind))),
        }
    }

    /// What a kind stores: tags and values.
    pub(super) fn list(&self, kind: Kind) -> Vec<(u8, u64)> {
        match Family::of(kind) {
            Family::Plain => Vec::new(),
            Family::Fiting => stored::fiting(&self.fiting),
            Family::Alex => stored::alex(&self.alex),
        }
    }

    /// What was stored; `None` where it makes no sense.
    pub(super) fn from_list(kind: Kind, list: &[(u8, u64)]) -> Option<Self> {
        let mut tunables = Self::default();
        for &(tag, value) in list {
            match Family::of(kind) {
                Family::Plain => return None,
                Family::Fiting => stored::set_fiting(&mut tunables.fiting, tag, value)?,
                Family::Alex => stored::set_alex(&mut tunables.alex, tag, value)?,
            }
        }
        tunables.nonsense(kind).is_none().then_some(tunables)
    }

    /// What would make sense, where a value does not.
    fn nonsense(&self, kind: Kind) -> Option<&'static str> {
        match Family::of(kind) {
            Family::Plain => None,
            Family::Fiting => fiting_nonsense(&self.fiting),
            Family::Alex => alex_nonsense(&self.alex),
        }
    }
}

fn fiting_nonsense(options: &FitingOptions) -> Option<&'static str> {
    (!(1..=1 << 20).contains(&options.error)).then_some("an error from 1 to 1,048,576 positions")
}

fn alex_nonsense(options: &AlexOptions) -> Option<&'static str> {
    let percents = [10, options.min_percent, options.initial_percent, options.max_percent, 100];
    if !percents.is_sorted() {
        return Some("percents that ascend: min, initial, max, from 10 to 100");
    }
    if !(1..=4096).contains(&options.max_node_pages) {
        return Some("data nodes of 1 to 4,096 pages");
    }
    (!(1..=24).contains(&options.max_fanout_bits)).then_some("inner nodes of 2^1 to 2^24 children")
}

/// The stored forms.
mod stored {
    use super::{AlexOptions, FitingOptions};

    /// A choice as eight bytes.
    trait Stored: Sized {
        fn to_stored(self) -> u64;
        fn from_stored(value: u64) -> Option<Self>;
    }

    macro_rules! integers {
        ($($type:ty)*) => {$(
            impl Stored for $type {
                fn to_stored(self) -> u64 {
                    self as u64
                }

                fn from_stored(value: u64) -> Option<Self> {
                    Self::try_from(value).ok()
                }
            }
        )*};
    }

    integers!(u8 u16 u32 usize);

    /// One function that lists the choices of a structure, and one that sets a choice by its tag.
    macro_rules! choices {
        ($list:ident, $set:ident, $options:ty: $($tag:literal $field:ident,)*) => {
            pub(super) fn $list(options: &$options) -> Vec<(u8, u64)> {
                vec![$(($tag, options.$field.to_stored())),*]
            }

            pub(super) fn $set(options: &mut $options, tag: u8, value: u64) -> Option<()> {
                match tag {
                    $($tag => options.$field = Stored::from_stored(value)?,)*
                    _ => return None,
                }
                Some(())
            }
        };
    }

    choices! { fiting, set_fiting, FitingOptions: 1 error, 2 buffer_entries, }
    choices! {
        alex, set_alex, AlexOptions:
        1 initial_percent, 2 max_percent, 3 min_percent, 4 max_node_pages, 5 max_fanout_bits, 6 page_weight,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_found_again_and_nonsense_is_refused() {
        for kind in Kind::ALL {
            let tunables = Tunables::new(&IndexOptions { kind, ..IndexOptions::default() }).unwrap();
            let list = tunables.list(kind);
            assert_eq!(Tunables::from_list(kind, &list), Some(tunables), "{kind}");
            assert_eq!(Tunables::from_list(kind, &[(250, 1)]), None, "{kind}: an unknown tag");
        }
        let mut fiting = FitingOptions::default();
        fiting.error = 0;
        assert!(Tunables::new(&IndexOptions { kind: Kind::Fiting, fiting, ..IndexOptions::default() }).is_err());
        assert!(Tunables::new(&IndexOptions { kind: Kind::Ogive, fiting, ..IndexOptions::default() }).is_ok());
        assert_eq!(Tunables::from_list(Kind::Fiting, &[(1, 0)]), None);
    }
}
