//! The row widths for which the sort is monomorphised.

/// Evaluates an expression with the constant `$n` as the width of rows, where code was compiled for that width; else
/// another one.
macro_rules! for_width {
    ($width:expr, $n:ident => $body:expr, else $other:expr) => {
        match $width {
            8 => {
                const $n: usize = 8;
                $body
            }
            16 => {
                const $n: usize = 16;
                $body
            }
            24 => {
                const $n: usize = 24;
                $body
            }
            32 => {
                const $n: usize = 32;
                $body
            }
            40 => {
                const $n: usize = 40;
                $body
            }
            48 => {
                const $n: usize = 48;
                $body
            }
            64 => {
                const $n: usize = 64;
                $body
            }
            _ => $other,
        }
    };
}

pub(crate) use for_width;
