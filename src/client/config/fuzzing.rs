//! Access of the fuzz targets to the reader of JSON with comments.
#![cfg(fuzzing)]

/// Turns JSON with comments and trailing commas into JSON.
pub fn to_json(text: &str) -> String {
    super::jsonc::to_json(text).to_string()
}
