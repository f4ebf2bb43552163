//! Label selectors in the syntax of Kubernetes: `app=web,tier in (a, b),!legacy`. The rules and
//! messages are those of the version that kyaml vendors.

use std::collections::BTreeSet;

const LONGEST: usize = 63;
const LONGEST_PREFIX: usize = 253;

/// Requirements on labels, all of which must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    relation: Relation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Relation {
    Exists,
    Missing,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

/// An invalid selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{problem} in the selector `{selector}`: write requirements such as `a=b`, `a!=b`, `a in (b, c)`, `a` or `!a`, with commas between them"
)]
pub struct BadLabelSelector {
    pub selector: String,
    pub problem: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    End,
    Open,
    Close,
    Comma,
    Not,
    Equal,
    NotEqual,
    Above,
    Below,
    In,
    NotIn,
    Name,
}

impl LabelSelector {
    pub fn parse(selector: &str) -> Result<Self, BadLabelSelector> {
        let mut parser = Parser { tokens: tokens(selector), at: 0 };
        match parser.requirements() {
            Ok(requirements) => Ok(Self(requirements)),
            Err(problem) => Err(BadLabelSelector { selector: selector.to_owned(), problem }),
        }
    }

    /// Returns the number of requirements.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Reports whether there are no requirements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reports whether labels match. `get` returns the value of a label, if it exists.
    pub fn is_match<'t>(&self, get: impl Fn(&str) -> Option<&'t str>) -> bool {
        self.0.iter().all(|Requirement { key, relation }| match (relation, get(key)) {
            (Relation::Exists, found) => found.is_some(),
            (Relation::Missing, found) => found.is_none(),
            (Relation::In(values), found) => found.is_some_and(|value| values.contains(value)),
            (Relation::NotIn(values), found) => !found.is_some_and(|value| values.contains(value)),
            (Relation::Above(than), found) => found.and_then(integer).is_some_and(|value| value > *than),
            (Relation::Below(than), found) => found.and_then(integer).is_some_and(|value| value < *than),
        })
    }
}

/// Parses an integer as Go does.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_sign(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}

/// Splits a selector into tokens; the last one is its end. A NUL at the start of a token ends the
/// selector.
fn tokens(selector: &str) -> Vec<(Token, &str)> {
    const SIGNS: [(&str, Token); 9] = [
        ("==", Token::Equal),
        ("!=", Token::NotEqual),
        ("=", Token::Equal),
        ("!", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
        (",", Token::Comma),
        (">", Token::Above),
        ("<", Token::Below),
    ];
    let mut tokens = Vec::new();
    let mut rest = selector;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if let Some((sign, token)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            tokens.push((*token, *sign));
            rest = &rest[sign.len()..];
            continue;
        }
        let end = rest.bytes().position(|byte| byte == 0 || is_space(byte) || is_sign(byte)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let token = match word {
            "" => {
                tokens.push((Token::End, ""));
                return tokens;
            }
            "in" => Token::In,
            "notin" => Token::NotIn,
            _ => Token::Name,
        };
        tokens.push((token, word));
        rest = after.strip_prefix('\0').unwrap_or(after);
    }
}

struct Parser<'s> {
    tokens: Vec<(Token, &'s str)>,
    at: usize,
}

impl<'s> Parser<'s> {
    /// Returns the next token. Where no operator is allowed, `in` and `notin` are names.
    fn peek(&self) -> (Token, &'s str) {
        match self.operator() {
            (Token::In | Token::NotIn, word) => (Token::Name, word),
            other => other,
        }
    }

    fn operator(&self) -> (Token, &'s str) {
        self.tokens.get(self.at).copied().unwrap_or((Token::End, ""))
    }

    fn next(&mut self) -> (Token, &'s str) {
        let next = self.peek();
        self.at += 1;
        next
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut all = Vec::new();
        loop {
            match self.peek() {
                (Token::End, _) => return Ok(all),
                (Token::Name | Token::Not, _) => {}
                (_, word) => return Err(format!("found '{word}', expected: !, identifier, or 'end of string'")),
            }
            let problem = |problem| format!("unable to parse requirement: {problem}");
            all.push(self.requirement().map_err(problem)?);
            match self.next() {
                (Token::End, _) => return Ok(all),
                (Token::Comma, _) => match self.peek() {
                    (Token::Name | Token::Not, _) => {}
                    (_, word) => return Err(format!("found '{word}', expected: identifier after ','")),
                },
                (_, word) => return Err(format!("found '{word}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let is_missing = self.peek().0 == Token::Not;
        if is_missing {
            self.next();
        }
        let key = match self.next() {
            (Token::Name, word) => word.to_owned(),
            (_, word) => return Err(format!("found '{word}', expected: identifier")),
        };
        check_key(&key)?;
        let relation = match self.peek().0 {
            _ if is_missing => Relation::Missing,
            Token::End | Token::Comma => Relation::Exists,
            _ => self.relation(&key)?,
        };
        Ok(Requirement { key, relation })
    }

    fn relation(&mut self, key: &str) -> Result<Relation, String> {
        let (operator, word) = self.operator();
        self.at += 1;
        let values = match operator {
            Token::In | Token::NotIn => self.values()?,
            Token::Equal | Token::NotEqual | Token::Above | Token::Below => BTreeSet::from([self.value()?]),
            _ => return Err(format!("found '{word}', expected: '=', '!=', '==', 'in', notin'")),
        };
        let number = || {
            let number = values.first().and_then(|value| integer(value));
            number.ok_or_else(|| "for 'Gt', 'Lt' operators, the value must be an integer".to_owned())
        };
        let relation = match operator {
            Token::Above => Relation::Above(number()?),
            Token::Below => Relation::Below(number()?),
            Token::In | Token::Equal => Relation::In(values.clone()),
            _ => Relation::NotIn(values.clone()),
        };
        values.iter().try_for_each(|value| check_value(key, value))?;
        Ok(relation)
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            (Token::Name, word) => Ok(word.to_owned()),
            (_, word) => Err(format!("found '{word}', expected: identifier")),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        match self.next() {
            (Token::Open, _) => {}
            (_, word) => return Err(format!("found '{word}' expected: '('")),
        }
        match self.peek() {
            (Token::Name | Token::Comma, word) => {
                let values = self.listed()?;
                match self.next() {
                    (Token::Close, _) => Ok(values),
                    _ => Err(format!("found '{word}', expected: ')'")),
                }
            }
            (Token::Close, _) => {
                self.next();
                Ok(BTreeSet::from([String::new()]))
            }
            (_, word) => Err(format!("found '{word}', expected: ',', ')' or identifier")),
        }
    }

    /// Parses values between parentheses, up to the closing one. A missing value between or next to
    /// commas is empty.
    fn listed(&mut self) -> Result<BTreeSet<String>, String> {
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Name, word) => {
                    values.insert(word.to_owned());
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(values),
                        (_, word) => return Err(format!("found '{word}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek().0 {
                        Token::Close => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Token::Comma => {
                            self.next();
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                (_, word) => return Err(format!("found '{word}', expected: ',', or identifier")),
            }
        }
    }
}

/// Reports whether a text has only letters, digits, `-`, `_` and `.`, with a letter or digit at
/// both ends.
fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(|byte| inner(*byte))
}

fn is_subdomain(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(inner);
    text.split('.').all(|label| !label.is_empty() && is_label(label))
}

fn check_key(key: &str) -> Result<(), String> {
    let parts: Vec<&str> = key.split('/').collect();
    let (prefix, name) = match parts[..] {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => return Err(format!("invalid label key {key:?}: it holds more than one `/`")),
    };
    let problem = if prefix == Some("") {
        "prefix part must be non-empty"
    } else if prefix.is_some_and(|prefix| prefix.len() > LONGEST_PREFIX) {
        "prefix part must be no more than 253 characters"
    } else if !prefix.is_none_or(is_subdomain) {
        "prefix part a DNS-1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
    } else if name.is_empty() {
        "name part must be non-empty"
    } else if name.len() > LONGEST {
        "name part must be no more than 63 characters"
    } else if !is_name(name) {
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    } else {
        return Ok(());
    };
    Err(format!("invalid label key {key:?}: {problem}"))
}

fn check_value(key: &str, value: &str) -> Result<(), String> {
    let problem = if value.len() > LONGEST {
        "must be no more than 63 characters"
    } else if !value.is_empty() && !is_name(value) {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    } else {
        return Ok(());
    };
    Err(format!("invalid label value: {value:?}: at key: {key:?}: {problem}"))
}
