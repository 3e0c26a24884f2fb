//! Keys, values, dates and sizes as words of the command line, and as tables of text.

pub(crate) mod dates;
pub(crate) mod json_field;
pub(crate) mod key;
pub(crate) mod own_options;
pub(crate) mod records;
pub(crate) mod size;
pub(crate) mod table_text;
pub(crate) mod value;
