//! Telling text that probably holds a credential or personal data (000 §9.6).
//!
//! A hint for agents, not a guard: it sees the common shapes of secrets and
//! knows nothing of names. It tells the kind, never the text.

/// What kind of sensitive data `value` probably holds, if any.
pub(super) fn kind(value: &str) -> Option<&'static str> {
    if value.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    if has_assigned_secret(value) {
        return Some("a password or key");
    }
    for word in value.split(|c: char| c.is_whitespace() || "\"'`<>()[]{},;=".contains(c)) {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        if is_access_key(word) {
            return Some("an access key or token");
        }
        if is_email(word) {
            return Some("an e-mail address");
        }
        if is_us_social_security_number(word) {
            return Some("a social security number");
        }
    }
    has_card_number(value).then_some("a payment card number")
}

/// Whether `word` has the shape of a well-known access key, or of a JWT.
fn is_access_key(word: &str) -> bool {
    const PREFIXES: [(&str, usize); 9] = [
        ("AKIA", 20),
        ("ASIA", 20),
        ("AIza", 39),
        ("ghp_", 36),
        ("gho_", 36),
        ("github_pat_", 40),
        ("sk-", 24),
        ("xoxb-", 24),
        ("xoxp-", 24),
    ];
    let is_token = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    let is_jwt = word.starts_with("eyJ") && word.matches('.').count() == 2 && word.len() > 40;
    word.chars().all(is_token)
        && (is_jwt
            || has_digit
                && PREFIXES.iter().any(|(it, len)| word.starts_with(it) && word.len() >= *len))
}

/// Whether a name such as `password` is followed by `:` or `=` and a word that
/// looks like a secret: six or more characters, one of them no letter.
fn has_assigned_secret(value: &str) -> bool {
    const NAMES: [&str; 8] =
        ["password", "passwd", "passphrase", "secret", "api_key", "api-key", "apikey", "token"];
    let lower = value.to_ascii_lowercase();
    NAMES.iter().any(|name| {
        lower.match_indices(name).any(|(at, _)| {
            let rest = lower.get(at + name.len()..).unwrap_or_default();
            let rest = rest.trim_start_matches(['"', '\'', ' ']);
            let Some(rest) = rest.strip_prefix([':', '=']) else { return false };
            let secret = rest.trim_start_matches(['"', '\'', ' ']);
            let secret = secret.split(|c: char| c.is_whitespace() || "\"',;".contains(c)).next();
            secret.is_some_and(|secret| {
                secret.chars().count() >= 6
                    && secret
                        .trim_end_matches('.')
                        .contains(|c: char| !is_letter(c) || c.is_ascii_digit())
            })
        })
    })
}

/// Whether `c` is a letter or digit, or of a script beyond ASCII.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii()
}

/// Whether `word` is an e-mail address.
fn is_email(word: &str) -> bool {
    let Some((name, domain)) = word.split_once('@') else { return false };
    let Some((host, top)) = domain.rsplit_once('.') else { return false };
    let is_part = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|c| is_letter(c) || more.contains(c))
    };
    is_part(name, "._%+-") && is_part(host, ".-") && top.len() >= 2 && is_part(top, "")
}

/// Whether `word` is written like a US social security number.
fn is_us_social_security_number(word: &str) -> bool {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    shape == "999-99-9999"
}

/// Whether 13 to 19 digits, in groups or not, have a valid check digit (Luhn,
/// ISO/IEC 7812-1) and more than one digit among them.
fn has_card_number(value: &str) -> bool {
    let runs = value.split(|c: char| !(c.is_ascii_digit() || c == ' ' || c == '-'));
    runs.map(str::trim).any(|run| {
        let digits: Vec<u32> = run.chars().filter_map(|c| c.to_digit(10)).collect();
        let groups = run.split([' ', '-']).filter(|group| !group.is_empty());
        let is_grouped = groups.clone().count() == 1 || groups.clone().all(|it| it.len() >= 3);
        let sum: u32 = digits
            .iter()
            .rev()
            .enumerate()
            .map(|(nth, digit)| match (nth % 2, digit * 2) {
                (0, _) => *digit,
                (_, twice) => twice / 10 + twice % 10,
            })
            .sum();
        (13..=19).contains(&digits.len())
            && is_grouped
            && sum.is_multiple_of(10)
            && digits.first().is_some_and(|first| (3..=6).contains(first))
    })
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn secrets_and_personal_data_are_seen() {
        for (text, what) in [
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", "a private key"),
            ("db password: hunter2!", "a password or key"),
            ("use API_KEY=abc123def", "a password or key"),
            ("{\"token\": \"9f8e7d6c\"}", "a password or key"),
            ("key AKIAIOSFODNN7EXAMPLE is live", "an access key or token"),
            ("ask jane.doe@example.com.", "an e-mail address"),
            ("SSN 078-05-1120", "a social security number"),
            ("paid with 4111 1111 1111 1111", "a payment card number"),
            ("paid with 5500-0000-0000-0004 today", "a payment card number"),
        ] {
            assert_eq!(kind(text), Some(what), "{text}");
        }
    }

    #[test]
    fn plain_conclusions_are_not() {
        for text in [
            "",
            "Connection pool size reduced from 200 to 20 in Feb 18 config change.",
            "The token limit is 1000; see token_count = 120 of secret santa: none",
            "Ticket 1234567890123 from 2026-02-18 14:30:00",
            "Password: unknown. Rotate the secret: yes",
            "user@host said so, @mention, a@b",
            "sk-learn and AKIA prefixes are keys",
        ] {
            assert_eq!(kind(text), None, "{text}");
        }
    }
}
