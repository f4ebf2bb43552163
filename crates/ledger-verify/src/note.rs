//! Reads checkpoints in the form of C2SP signed notes, and verifies their signatures.

use std::str::FromStr;

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest as _, Sha256};

use crate::error::VerifyError;
use crate::tree::Hash;

/// A key that may sign checkpoints, in the text form of signed notes: `name+id+base64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl FromStr for Key {
    type Err = VerifyError;

    fn from_str(text: &str) -> Result<Self, VerifyError> {
        parse_key(text.trim()).ok_or_else(|| VerifyError::BadKey { text: text.escape_debug().to_string() })
    }
}

fn parse_key(text: &str) -> Option<Key> {
    let (name, rest) = text.split_once('+')?;
    let (id, key) = rest.split_once('+')?;
    let id: [u8; 4] = HEXLOWER.decode(id.as_bytes()).ok()?.try_into().ok()?;
    let encoded = BASE64.decode(key.as_bytes()).ok()?;
    let (algorithm, key) = encoded.split_first()?;
    let hash = Sha256::digest([name.as_bytes(), b"\n", &encoded].concat());
    if *algorithm != 1 || hash[..4] != id {
        return None;
    }
    let key = VerifyingKey::from_bytes(key.try_into().ok()?).ok()?;
    Some(Key { name: name.to_owned(), id, key })
}

/// A checkpoint with a verified signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) origin: String,
    pub(crate) size: u64,
    pub(crate) root: Hash,
    pub(crate) epoch: u64,
}

/// Reads a checkpoint that one of `keys` signed.
pub(crate) fn open(text: &str, keys: &[Key]) -> Result<Checkpoint, &'static str> {
    let end_of_body = text.rfind("\n\n").ok_or("it carries no signature")? + 1;
    let (body, signatures) = (&text[..end_of_body], &text[end_of_body + 1..]);
    if !signatures.ends_with('\n') {
        return Err("its last line is cut off");
    }
    if !signatures.lines().map(|line| is_signed(body, line, keys)).collect::<Result<Vec<_>, _>>()?.contains(&true) {
        return Err("none of the given keys has signed it");
    }
    parse_body(body).ok_or("it is signed, but not a checkpoint of a ledger")
}

/// Reports whether the line is a valid signature of one of the keys. An invalid one under a known
/// name is an error.
fn is_signed(body: &str, line: &str, keys: &[Key]) -> Result<bool, &'static str> {
    let mut words = line.split(' ');
    let (Some("\u{2014}"), Some(name), Some(signed), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("a signature line is malformed");
    };
    let signed = BASE64.decode(signed.as_bytes()).map_err(|_| "a signature is not base64")?;
    let Some(key) = keys.iter().find(|key| key.name == name && signed.get(..4) == Some(&key.id[..])) else {
        return Ok(false);
    };
    let signature = Signature::from_slice(&signed[4..]).map_err(|_| "a signature has a wrong length")?;
    key.key.verify_strict(body.as_bytes(), &signature).map_err(|_| "its signature is wrong")?;
    Ok(true)
}

fn parse_body(body: &str) -> Option<Checkpoint> {
    let lines: Vec<_> = body.lines().collect();
    let [origin, size, root, epoch] = lines[..] else { return None };
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| number.to_string() == text);
    Some(Checkpoint {
        origin: origin.to_owned(),
        size: number(size)?,
        root: BASE64.decode(root.as_bytes()).ok()?.try_into().ok()?,
        epoch: number(epoch.strip_prefix("epoch ")?)?,
    })
}
