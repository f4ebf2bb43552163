//! Checkpoints: a log's size and root, signed. The form is C2SP tlog-checkpoint, so that existing
//! witnesses and verifiers can read it.
//!
//! ```text
//! setpoint.example/hub
//! 1234
//! base64 of the root
//! epoch 7
//!
//! — setpoint.example/hub base64 of key id and Ed25519 signature
//! ```
//!
//! The extension line holds the epoch: after a restore the new epoch must be above every epoch that
//! was ever used.

use data_encoding::BASE64;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use setpoint_core::digest::Digest;
use sha2::{Digest as _, Sha256};

use crate::origin::Origin;

/// The signed-note algorithm number of Ed25519.
const ED25519: u8 = 1;

/// The reason why a checkpoint is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCheckpoint {
    #[error("it is not a checkpoint: {problem}")]
    Form { problem: &'static str },
    #[error("no key that is trusted for this log has signed it")]
    Unsigned,
    #[error("the signature of key `{key}` is wrong")]
    Forged { key: String },
}

/// The key that signs the checkpoints of a log.
#[derive(Clone)]
pub struct Signer {
    name: Origin,
    key: SigningKey,
}

impl Signer {
    /// Builds a signer. `name` is the signer's name, usually the origin of the log.
    pub fn new(name: Origin, seed: &[u8; 32]) -> Self {
        Self { name, key: SigningKey::from_bytes(seed) }
    }

    pub fn public(&self) -> PublicKey {
        PublicKey { name: self.name.clone(), key: self.key.verifying_key() }
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signer({}, …)", self.name)
    }
}

/// The key that verifies the checkpoints of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    name: Origin,
    key: VerifyingKey,
}

impl PublicKey {
    /// Returns the text form of signed notes: `name+key id+base64 of algorithm and key`.
    pub fn to_text(&self) -> String {
        let id = u32::from_be_bytes(self.id());
        format!("{}+{id:08x}+{}", self.name, BASE64.encode(&[&[ED25519][..], self.key.as_bytes()].concat()))
    }

    fn id(&self) -> [u8; 4] {
        let hash = Sha256::new()
            .chain_update(self.name.as_str())
            .chain_update([b'\n', ED25519])
            .chain_update(self.key.as_bytes())
            .finalize();
        [hash[0], hash[1], hash[2], hash[3]]
    }
}

/// A log's size and root at one moment, with their signed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub origin: Origin,
    pub epoch: u64,
    pub size: u64,
    pub root: Digest,
    /// The signed note, as stored and anchored.
    pub text: String,
}

impl Checkpoint {
    pub fn sign(origin: Origin, epoch: u64, size: u64, root: Digest, signer: &Signer) -> Self {
        let body = format!("{origin}\n{size}\n{}\nepoch {epoch}\n", BASE64.encode(root.as_bytes()));
        let signature = signer.key.sign(body.as_bytes()).to_bytes();
        let public = signer.public();
        let signed = BASE64.encode(&[&public.id()[..], &signature].concat());
        let text = format!("{body}\n\u{2014} {} {signed}\n", public.name);
        Self { origin, epoch, size, root, text }
    }

    /// Reads a checkpoint that one of `keys` signed: the writer's current key, or one it had before
    /// a rotation.
    pub fn open(text: &str, keys: &[PublicKey]) -> Result<Self, BadCheckpoint> {
        let (body, signatures) = text.rsplit_once("\n\n").ok_or(form("it has no signature"))?;
        let body = format!("{body}\n");
        check_signatures(&body, signatures, keys)?;
        let (origin, epoch, size, root) = parse_body(&body)?;
        Ok(Self { origin, epoch, size, root, text: text.to_owned() })
    }

    /// Reads a checkpoint without verifying its signature. The result identifies the log, but
    /// proves nothing.
    pub fn read_unproven(text: &str) -> Result<Self, BadCheckpoint> {
        let (body, _) = text.rsplit_once("\n\n").ok_or(form("it has no signature"))?;
        let (origin, epoch, size, root) = parse_body(&format!("{body}\n"))?;
        Ok(Self { origin, epoch, size, root, text: text.to_owned() })
    }
}

fn form(problem: &'static str) -> BadCheckpoint {
    BadCheckpoint::Form { problem }
}

fn parse_body(body: &str) -> Result<(Origin, u64, u64, Digest), BadCheckpoint> {
    let mut lines = body.lines();
    let mut next = |problem| lines.next().ok_or(form(problem));
    let origin = Origin::new(next("the origin is missing")?).map_err(|_| form("the origin is not valid"))?;
    let size = parse_number(next("the size is missing")?).ok_or(form("the size is not a number"))?;
    let root = BASE64.decode(next("the root is missing")?.as_bytes()).ok().and_then(|root| root.try_into().ok());
    let root = Digest::from_bytes(root.ok_or(form("the root is not 32 bytes in base64"))?);
    let epoch = next("the epoch is missing")?.strip_prefix("epoch ").and_then(parse_number);
    Ok((origin, epoch.ok_or(form("the epoch is not a number"))?, size, root))
}

/// Parses decimal digits without sign or leading zeros, so that each number has one spelling.
fn parse_number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

fn check_signatures(body: &str, signatures: &str, keys: &[PublicKey]) -> Result<(), BadCheckpoint> {
    for line in signatures.lines() {
        let (name, signed) = line
            .strip_prefix("\u{2014} ")
            .and_then(|rest| rest.split_once(' '))
            .ok_or(form("a signature line is not `— name base64`"))?;
        let signed = BASE64.decode(signed.as_bytes()).map_err(|_| form("a signature is not base64"))?;
        let Some((id, signature)) = signed.split_first_chunk::<4>() else {
            return Err(form("a signature is too short"));
        };
        // Signatures of other keys, such as those of witnesses, are ignored.
        if let Some(key) = keys.iter().find(|key| key.name.as_str() == name && key.id() == *id) {
            let signature = Signature::from_slice(signature).map_err(|_| form("a signature has a wrong length"))?;
            let forged = BadCheckpoint::Forged { key: key.name.to_string() };
            return key.key.verify_strict(body.as_bytes(), &signature).map_err(|_| forged);
        }
    }
    Err(BadCheckpoint::Unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(seed: u8) -> Signer {
        Signer::new(Origin::new("setpoint.example/hub").unwrap(), &[seed; 32])
    }

    fn checkpoint() -> Checkpoint {
        Checkpoint::sign(Origin::new("setpoint.example/hub").unwrap(), 7, 1234, Digest::of(b"root"), &signer(1))
    }

    #[test]
    fn a_checkpoint_survives_its_text_form() {
        let signed = checkpoint();
        assert!(signed.text.starts_with("setpoint.example/hub\n1234\n"), "{}", signed.text);
        assert_eq!(Checkpoint::open(&signed.text, &[signer(1).public()]), Ok(signed));
    }

    #[test]
    fn a_checkpoint_of_another_key_is_refused() {
        assert_eq!(Checkpoint::open(&checkpoint().text, &[signer(2).public()]), Err(BadCheckpoint::Unsigned));
        assert!(Checkpoint::open(&checkpoint().text, &[signer(2).public(), signer(1).public()]).is_ok());
        assert_eq!(Checkpoint::read_unproven(&checkpoint().text), Ok(checkpoint()), "but whose it is can be told");
        assert!(Checkpoint::read_unproven("a shopping list\n\nmilk\n").is_err());
    }

    #[test]
    fn an_edited_checkpoint_is_refused() {
        let text = checkpoint().text;
        for edited in [
            text.replace("1234", "1235"),
            text.replace("epoch 7", "epoch 8"),
            text.replace("hub\n1", "hab\n1"),
            text.replace("\n\n", "\n"),
            text.replacen("\n1234", "\n01234", 1),
            String::new(),
        ] {
            assert!(Checkpoint::open(&edited, &[signer(1).public()]).is_err(), "{edited}");
        }
    }

    #[test]
    fn a_public_key_names_itself_by_the_rule_of_the_note_format() {
        // id = SHA-256(name ‖ "\n" ‖ 0x01 ‖ key)[..4], computed here from the text alone.
        let text = signer(1).public().to_text();
        let parts: Vec<_> = text.splitn(3, '+').collect();
        let key = BASE64.decode(parts[2].as_bytes()).unwrap();
        let digest = Digest::of(&[parts[0].as_bytes(), b"\n", &key].concat());
        assert_eq!((parts[0], parts[1]), ("setpoint.example/hub", &digest.to_string()[..8]));
    }
}
