//! Encoding and decoding of forms and queries (`application/x-www-form-urlencoded`).
//!
//! Spec: URL Standard, "application/x-www-form-urlencoded"; RFC 6749, appendix B.

use crate::schema::url::{percent_decoded_bytes, push_percent_encoded};

/// Appends a name and its value to `form`. A blank becomes `%20`, which is valid in forms and in
/// queries.
pub(super) fn push(form: &mut String, name: &str, value: &str) {
    if !form.is_empty() {
        form.push('&');
    }
    push_percent_encoded(form, name);
    form.push('=');
    push_percent_encoded(form, value);
}

/// Returns the decoded pairs of a query. Pairs that are not UTF-8 are ignored.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decode(name)?, decode(value)?))
    })
}

/// Decodes a name or a value of a form. In contrast to a URI, `+` is a blank, and an incomplete
/// escape is text.
fn decode(text: &str) -> Option<String> {
    String::from_utf8(percent_decoded_bytes(&text.replace('+', " "))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_written_and_read() {
        let mut form = String::new();
        push(&mut form, "a b", "c&d=é+");
        push(&mut form, "x", "");
        assert_eq!(form, "a%20b=c%26d%3D%C3%A9%2B&x=");
        let query = "a+b=c%26d&iss=https%3A%2F%2Fa&bad=%ff&%4=%zz%&x";
        let read: Vec<_> = pairs(query).collect();
        let read: Vec<_> = read.iter().map(|(a, b)| (&**a, &**b)).collect();
        let expected = [
            ("a b", "c&d"),
            ("iss", "https://a"),
            ("%4", "%zz%"),
            ("x", ""),
        ];
        assert_eq!(read, expected);
    }
}
