//! Cells as JSON.

/// Converts a text to JSON and cuts it if it is too long for a name, since cells may contain megabytes.
pub fn text_json(text: &str) -> serde_json::Value {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()).into(),
    }
}

/// Converts a number to JSON: integers without a point, NaN and infinities as texts.
pub fn number_json(value: f64) -> serde_json::Value {
    if !value.is_finite() {
        value.to_string().into()
    } else if value.fract() == 0.0 && value.abs() < 9e15 {
        (value as i64).into()
    } else {
        value.into()
    }
}
