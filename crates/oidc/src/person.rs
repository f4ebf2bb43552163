//! Claims to a person: the subject that identifies, the name to show, and the groups that rights are
//! granted to.

use serde_json::Value;

use crate::errors::SignInError;
use crate::id_token::{Claims, text};
use crate::settings::Settings;

/// A person whom a provider has signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The identity at the provider. It is never given to another person, and people cannot choose
    /// it, unlike a name or an e-mail address.
    pub subject: String,
    /// The name to show. It identifies no one.
    pub name: String,
    /// The e-mail address, if the provider has verified it.
    pub email: Option<String>,
    pub groups: Vec<String>,
}

/// Reports whether the claims lack something that the user information of the provider may have.
pub(crate) fn lacks_something(claims: &Claims, settings: &Settings) -> bool {
    let name = settings.name_claim.as_deref().unwrap_or("preferred_username");
    !claims.contains_key(&settings.groups_claim) || !claims.contains_key(name)
}

/// Returns the claims of the ID token with those that only the user information has.
pub(crate) fn completed(mut claims: Claims, more: Claims) -> Claims {
    // An address and whether it is verified belong together, so both come from the same place.
    const ADDRESS: [&str; 2] = ["email", "email_verified"];
    let has_address = ADDRESS.iter().any(|name| claims.contains_key(*name));
    let is_known = |name: &String| claims.contains_key(name) || (has_address && ADDRESS.contains(&name.as_str()));
    let new: Vec<_> = more.into_iter().filter(|(name, _)| !is_known(name)).collect();
    claims.extend(new);
    claims
}

pub(crate) fn person(claims: &Claims, settings: &Settings) -> Result<Person, SignInError> {
    let email = verified_email(claims).map(str::to_owned);
    let groups = groups(claims, &settings.groups_claim)?;
    let name = name(claims, settings)?;
    let problem = if name.is_empty() {
        Some("is empty")
    } else if name.chars().count() > 256 {
        Some("is longer than 256 characters")
    } else if name.chars().any(is_invisible) {
        Some("has invisible characters")
    } else {
        None
    };
    if let Some(problem) = problem {
        return Err(SignInError::Name { problem });
    }
    Ok(Person { subject: text(claims, "sub")?.to_owned(), name, email, groups })
}

fn name(claims: &Claims, settings: &Settings) -> Result<String, SignInError> {
    let claim = |claim: &str| claims.get(claim).and_then(Value::as_str);
    let name = match settings.name_claim.as_deref() {
        Some("email") => match (claim("email"), verified_email(claims)) {
            (_, Some(email)) => Some(email),
            (Some(_), None) => return Err(SignInError::UnverifiedEmail),
            (None, None) => None,
        },
        Some(wanted) => claim(wanted),
        None => claim("preferred_username").or_else(|| verified_email(claims)).or_else(|| claim("sub")),
    };
    let missing = || SignInError::NoName { claim: settings.name_claim.clone().unwrap_or_default() };
    name.map(str::to_owned).ok_or_else(missing)
}

fn verified_email(claims: &Claims) -> Option<&str> {
    let is_verified = match claims.get("email_verified") {
        Some(Value::Bool(is_verified)) => *is_verified,
        // Some providers write all claims as texts.
        Some(Value::String(word)) => word == "true",
        _ => false,
    };
    claims.get("email").and_then(Value::as_str).filter(|_| is_verified)
}

/// Returns the groups. A missing claim means none: such a person has the rights of everyone.
fn groups(claims: &Claims, claim: &str) -> Result<Vec<String>, SignInError> {
    let malformed = || SignInError::Groups { claim: claim.to_owned() };
    match claims.get(claim) {
        // The claim of a person with many groups is replaced by a link, at Entra ID.
        None if claims.get("_claim_names").and_then(|names| names.get(claim)).is_some() => {
            Err(SignInError::TooManyGroups)
        }
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(one)) => Ok(vec![one.clone()]),
        Some(Value::Array(many)) => {
            many.iter().map(|group| group.as_str().map(str::to_owned).ok_or_else(malformed)).collect()
        }
        Some(_) => Err(malformed()),
    }
}

/// Reports whether a character does not show, or changes the direction of a text.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(name_claim: Option<&str>) -> Settings {
        Settings {
            name: "corporate".to_owned(),
            title: "Corporate".to_owned(),
            issuer: "https://login.example".to_owned(),
            client_id: "setpoint".to_owned(),
            client_secret: None,
            scopes: None,
            groups_claim: "groups".to_owned(),
            name_claim: name_claim.map(str::to_owned),
            authorities: None,
            redirect: "https://ops.example/sign-in/corporate/callback".to_owned(),
            patience: std::time::Duration::from_secs(10),
        }
    }

    fn claims(claims: Value) -> Claims {
        match claims {
            Value::Object(claims) => claims,
            other => panic!("{other}"),
        }
    }

    fn named(name_claim: Option<&str>, more: Value) -> Result<String, SignInError> {
        let claims = completed(claims(json!({ "sub": "00u1" })), claims(more));
        person(&claims, &settings(name_claim)).map(|person| person.name)
    }

    #[test]
    fn an_unverified_address_names_no_one() {
        let unverified = json!({ "email": "boss@corp.example" });
        assert_eq!(named(None, unverified.clone()).unwrap(), "00u1");
        assert_eq!(named(Some("email"), unverified), Err(SignInError::UnverifiedEmail));
        let denied = json!({ "email": "boss@corp.example", "email_verified": false });
        assert_eq!(named(None, denied).unwrap(), "00u1");
        for verified in [json!(true), json!("true")] {
            let claims = json!({ "email": "erika@corp.example", "email_verified": verified });
            assert_eq!(named(None, claims.clone()).unwrap(), "erika@corp.example");
            assert_eq!(named(Some("email"), claims).unwrap(), "erika@corp.example");
        }
    }

    #[test]
    fn an_address_is_verified_in_the_place_where_it_is_written() {
        let email =
            |token: Value, more: Value| person(&completed(claims(token), claims(more)), &settings(None)).unwrap().email;
        let verified = json!({ "sub": "a", "email": "erika@corp.example", "email_verified": true });
        assert_eq!(email(json!({ "sub": "a", "email": "boss@corp.example" }), verified.clone()), None);
        let unverified = json!({ "sub": "a", "email": "boss@corp.example" });
        assert_eq!(email(json!({ "sub": "a", "email_verified": true }), unverified), None);
        assert_eq!(email(json!({ "sub": "a" }), verified).as_deref(), Some("erika@corp.example"));
    }

    #[test]
    fn the_name_comes_from_the_claim_that_is_set() {
        let all = json!({ "preferred_username": "erika", "name": "Erika Müster" });
        assert_eq!(named(None, all.clone()).unwrap(), "erika");
        assert_eq!(named(Some("name"), all.clone()).unwrap(), "Erika Müster");
        assert_eq!(named(Some("sub"), all.clone()).unwrap(), "00u1");
        assert_eq!(named(Some("upn"), all), Err(SignInError::NoName { claim: "upn".to_owned() }));
    }

    #[test]
    fn a_name_that_could_deceive_is_refused() {
        for name in ["", "a\nb", "root\u{202e}", "ro\u{200b}ot", &"a".repeat(257)] {
            let refused = named(None, json!({ "preferred_username": name }));
            assert!(matches!(refused, Err(SignInError::Name { .. })), "{name:?}");
        }
    }

    #[test]
    fn groups_are_a_list_of_texts_or_one_text() {
        let groups = |groups: Value| {
            let claims = claims(json!({ "sub": "a", "groups": groups }));
            person(&claims, &settings(None)).map(|person| person.groups)
        };
        assert_eq!(groups(json!(["web", "/ops/Leads"])).unwrap(), ["web", "/ops/Leads"]);
        assert_eq!(groups(json!("web")).unwrap(), ["web"]);
        assert!(groups(json!([])).unwrap().is_empty() && groups(Value::Null).unwrap().is_empty());
        for wrong in [json!(7), json!({ "web": true }), json!(["web", 7]), json!([["web"]])] {
            assert!(matches!(groups(wrong.clone()), Err(SignInError::Groups { .. })), "{wrong}");
        }
    }

    #[test]
    fn groups_that_the_provider_leaves_out_are_not_taken_for_none() {
        let overage = json!({ "sub": "a", "_claim_names": { "groups": "src1" } });
        assert_eq!(person(&claims(overage), &settings(None)), Err(SignInError::TooManyGroups));
        let other = json!({ "sub": "a", "_claim_names": { "address": "src1" } });
        assert!(person(&claims(other), &settings(None)).unwrap().groups.is_empty());
    }
}
