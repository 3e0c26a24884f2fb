//! Builder methods of the option structs: each sets one field and returns the options.
//!
//! The structs are `#[non_exhaustive]`, since options come with releases: programs begin with `default()` and set what
//! they need.

/// Defines a method `field(value)` for each public field of an option struct.
///
/// Fields after `optional` are of type `Option<T>`, listed with their `T`: the methods take a `T` or an `Option<T>`.
/// Fields after `groups` are option structs of their own: the methods take a function that changes the group.
macro_rules! setters {
    (
        $options:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }
        optional { $($optional:ident: $inner:ty,)* }
        $(groups { $($group:ident: $options_of_group:ty,)* })?
    ) => {
        impl $options {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](field@Self::", stringify!($field), ").")]
                $(#[$attribute])*
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
            $(
                #[doc = concat!("Sets [`", stringify!($optional), "`](field@Self::", stringify!($optional), ").")]
                #[must_use]
                pub fn $optional(mut self, $optional: impl Into<Option<$inner>>) -> Self {
                    self.$optional = $optional.into();
                    self
                }
            )*
            $($(
                #[doc = concat!("Changes [`", stringify!($group), "`](field@Self::", stringify!($group), ").")]
                #[must_use]
                pub fn $group(mut self, change: impl FnOnce($options_of_group) -> $options_of_group) -> Self {
                    self.$group = change(self.$group);
                    self
                }
            )*)?
        }
    };
}
