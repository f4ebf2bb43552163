//! The rules for passwords when they are set. A sign-in checks only the length.

use std::collections::BTreeSet;

use crate::errors::PasswordError;
use crate::secrets::Password;

/// The shortest and the longest password in bytes. The upper limit bounds the work of a request.
const SHORTEST: usize = 12;
pub(crate) const LONGEST: usize = 1_024;

/// A password with fewer different characters is a repetition.
const DIFFERENT: usize = 5;

/// The most frequent passwords of 12 bytes or more in published leaks, one per line, in lower case.
const COMMON: &str = include_str!("common_passwords.txt");

pub(crate) fn check(password: &Password, name: &str) -> Result<(), PasswordError> {
    let text = password.open();
    if text.len() < SHORTEST {
        Err(PasswordError::TooShort { limit: SHORTEST })
    } else if text.len() > LONGEST {
        Err(PasswordError::TooLong { limit: LONGEST })
    } else if text.eq_ignore_ascii_case(name) {
        Err(PasswordError::EqualsName)
    } else if text.chars().collect::<BTreeSet<_>>().len() < DIFFERENT {
        Err(PasswordError::TooUniform)
    } else if COMMON.lines().any(|common| text.eq_ignore_ascii_case(common)) {
        Err(PasswordError::Common)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_a_password_that_no_other_rule_refuses() {
        for line in COMMON.lines() {
            assert_eq!(line, line.trim().to_lowercase());
            assert_eq!(check(&Password::new(line.to_owned()), "ada"), Err(PasswordError::Common), "{line}");
        }
        assert!(COMMON.lines().count() >= 80);
    }
}
