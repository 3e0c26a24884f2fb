//! Text of floats. A number with a point or an exponent means the nearest float. One without them is an integer and
//! means itself: if no float holds it, it is not rounded, since it would equal numbers that it is not.

use super::key_type::KeyType;

/// Digits of integers that all floats of 32 and of 64 bits hold.
const F32_DIGITS: usize = 7;
const F64_DIGITS: usize = 15;

/// Floats from the one up to the other have no exponent, as in JavaScript: others would be mostly zeros.
const PLAIN_MIN: f64 = 1e-6;
const PLAIN_END: f64 = 1e21;

/// The float of a text in values. An integer that is not held may be the shortest that leads back to its float:
/// programs that print floats without an exponent write them so.
pub(super) fn parse(key_type: KeyType, text: &str) -> Option<f64> {
    let float = nearest(key_type, text)?;
    let is_meant = is_held(key_type, text, float) || integer(text) == integer(&shortest(key_type, float));
    is_meant.then_some(float)
}

/// The float of a text in keys, which are compared: integers are held exactly.
pub(super) fn parse_key(key_type: KeyType, text: &str) -> Option<f64> {
    nearest(key_type, text).filter(|&float| is_held(key_type, text, float))
}

/// The shortest decimal that leads back to a float, with an exponent if it were another integer or mostly zeros without
/// one.
pub(super) fn display(key_type: KeyType, float: f64) -> String {
    if !has_exponent(key_type, float) {
        let shown = shortest(key_type, float);
        if is_held(key_type, &shown, float) {
            return shown;
        }
    }
    if key_type == KeyType::F32 { format!("{:e}", float as f32) } else { format!("{float:e}") }
}

/// Whether a float is so large or so small that it is written with an exponent.
fn has_exponent(key_type: KeyType, float: f64) -> bool {
    let size = float.abs();
    let held = |bound: f64| if key_type == KeyType::F32 { (bound as f32).into() } else { bound };
    size.is_finite() && size != 0.0 && !(held(PLAIN_MIN)..held(PLAIN_END)).contains(&size)
}

/// The float that is nearest to a number; `None` beyond the range, of which the standard library makes infinity.
fn nearest(key_type: KeyType, text: &str) -> Option<f64> {
    let float = match key_type {
        KeyType::F32 => text.parse::<f32>().ok()?.into(),
        _ => text.parse::<f64>().ok()?,
    };
    let is_in_range = !float.is_infinite() || !text.bytes().any(|byte| byte.is_ascii_digit());
    is_in_range.then_some(float)
}

/// Whether a text is no integer, or one that a float, the nearest, holds exactly.
fn is_held(key_type: KeyType, text: &str, float: f64) -> bool {
    let always = if key_type == KeyType::F32 { F32_DIGITS } else { F64_DIGITS };
    integer(text).is_none_or(|digits| digits.len() <= always || format!("{:.0}", float.abs()) == digits)
}

/// The shortest decimal that leads back to a float, without an exponent.
fn shortest(key_type: KeyType, float: f64) -> String {
    if key_type == KeyType::F32 { (float as f32).to_string() } else { float.to_string() }
}

/// The digits of an integer, without zeros in front; `None` for other texts.
fn integer(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer.then(|| digits.trim_start_matches('0'))
}
