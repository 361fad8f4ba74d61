//! Detection of probable credentials and personal data in text (spec 9.6).
//!
//! This is a hint for agents, not a guard. It recognizes common shapes of secrets, but no
//! names. It returns the kind, never the text.

/// Returns the kind of sensitive data that `value` probably contains, if any.
pub(super) fn kind(value: &str) -> Option<&'static str> {
    if value.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    if has_assigned_secret(value) {
        return Some("a password or key");
    }
    let words = value.split_whitespace().map(str::as_bytes);
    for mut word in words.flat_map(|it| it.split(|byte| b"\"'`<>()[]{},;=".contains(byte))) {
        while let [rest @ .., b'.' | b':' | b'!' | b'?'] = word {
            word = rest;
        }
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

/// Returns true if `word` has the shape of a well-known access key, or of a JWT.
fn is_access_key(word: &[u8]) -> bool {
    const PREFIXES: [(&[u8], usize); 9] = [
        (b"AKIA", 20),
        (b"ASIA", 20),
        (b"AIza", 39),
        (b"ghp_", 36),
        (b"gho_", 36),
        (b"github_pat_", 40),
        (b"sk-", 24),
        (b"xoxb-", 24),
        (b"xoxp-", 24),
    ];
    let dots = || word.split(|it| *it == b'.').skip(1).count();
    let is_jwt = || word.starts_with(b"eyJ") && word.len() > 40 && dots() == 2;
    let is_key = || {
        word.iter().any(u8::is_ascii_digit)
            && PREFIXES.iter().any(|(it, len)| word.starts_with(it) && word.len() >= *len)
    };
    word.iter().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(it))
        && (is_jwt() || is_key())
}

/// Returns true if a name such as `password` is followed by `:` or `=` and a word that
/// looks like a secret: at least six characters, one of them not a letter.
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
                        .bytes()
                        .any(|it| !is_letter(it) || it.is_ascii_digit())
            })
        })
    })
}

/// Returns true if `byte` is an ASCII letter or digit, or not ASCII.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Returns true if `word` is an e-mail address.
fn is_email(word: &[u8]) -> bool {
    let mut parts = word.splitn(2, |it| *it == b'@');
    let (Some(name), Some(domain)) = (parts.next(), parts.next()) else { return false };
    let mut parts = domain.rsplitn(2, |it| *it == b'.');
    let (Some(top), Some(host)) = (parts.next(), parts.next()) else { return false };
    let is_part = |text: &[u8], more: &[u8]| {
        !text.is_empty() && text.iter().all(|it| is_letter(*it) || more.contains(it))
    };
    is_part(name, b"._%+-") && is_part(host, b".-") && top.len() >= 2 && is_part(top, b"")
}

/// Returns true if `word` has the form of a US social security number.
fn is_us_social_security_number(word: &[u8]) -> bool {
    let mut pairs = word.iter().zip(b"999-99-9999");
    let is_alike =
        |it: &u8, shape: &u8| if *shape == b'9' { it.is_ascii_digit() } else { it == shape };
    word.len() == 11 && pairs.all(|(it, shape)| is_alike(it, shape))
}

/// Returns true if `value` contains 13 to 19 digits, optionally in groups, that start
/// with 3 to 6 and have a valid check digit (Luhn, ISO/IEC 7812-1).
fn has_card_number(value: &str) -> bool {
    if value.bytes().filter(u8::is_ascii_digit).count() < 13 {
        return false;
    }
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
    fn secrets_and_personal_data_are_detected() {
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
    fn plain_conclusions_are_not_reported_as_sensitive() {
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
