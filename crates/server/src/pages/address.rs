//! Addresses: paths and query strings with percent-encoding.

use std::fmt::Write;

use setpoint_core::name::AppId;

/// Returns a text in which every byte that has a meaning in a URL is encoded.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("writing to a string does not fail");
        }
    }
    encoded
}

/// Decodes a part of a query string. Malformed escapes stay as they are; bytes that are no UTF-8
/// become replacement characters.
pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while place < bytes.len() {
        let hex = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (bytes[place], hex(place + 1), hex(place + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.extend(u8::try_from(high * 16 + low));
                place += 2;
            }
            (b'+', ..) => decoded.push(b' '),
            (byte, ..) => decoded.push(byte),
        }
        place += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Returns the decoded names and values of a query string.
pub fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    })
}

/// Returns the path of the page of a version.
pub fn version(version: &str) -> String {
    format!("/versions/{}", encode(version))
}

/// Returns a query string of the pairs that have a value, with `?` before it; empty if none has.
pub fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = String::new();
    for (name, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(name);
        query.push('=');
        query.push_str(&encode(value));
    }
    query
}

/// Returns the path of an app's page, without the base path.
pub fn app(app: &AppId) -> String {
    format!("/apps/{}/{}", encode(app.scope.as_str()), encode(app.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_reads_back_as_it_was() {
        for text in ["", "web/shop", "a b+c&d=e", "100 %", "Übersicht", "<img src=x>", "%zz", "\"'"] {
            assert_eq!(decode(&encode(text)), text);
        }
    }

    #[test]
    fn malformed_escapes_do_not_fail() {
        assert_eq!(decode("%"), "%");
        assert_eq!(decode("%4"), "%4");
        assert_eq!(decode("a%zzb+c"), "a%zzb c");
        assert_eq!(decode("%ff"), "\u{fffd}");
    }

    #[test]
    fn a_query_omits_empty_values() {
        assert_eq!(query([("scope", ""), ("q", "a b"), ("state", "held")]), "?q=a%20b&state=held");
        assert_eq!(query([]), "");
        let read: Vec<_> = pairs("q=a%20b&&state=held&flag").collect();
        let expected = [("q", "a b"), ("state", "held"), ("flag", "")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(read, expected);
    }
}
