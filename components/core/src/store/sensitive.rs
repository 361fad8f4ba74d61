//! Detection of probable credentials and personal data in text (spec 9.6).
//!
//! This is a hint for agents, not a guard. It recognizes common shapes of secrets, but no
//! names. It returns the kind, never the text.

use std::ops::RangeInclusive;

/// The digits of a payment card number.
const CARD_DIGITS: RangeInclusive<usize> = 13..=19;

/// The role of a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Part of a word and of a number.
    Digit,
    /// Part of a word; separates groups of a number.
    Dash,
    /// Separates words, and groups of a number.
    Space,
    /// Separates words: other white space, quotes, brackets.
    Separator,
    /// A separator that can follow a name such as `password`.
    Equals,
    /// Part of a word; can follow such a name, too.
    Colon,
    /// Part of a word; e-mail addresses have one.
    At,
    /// Part of a word.
    Other,
}

impl Class {
    fn of(byte: u8) -> Self {
        match byte {
            b'0'..=b'9' => Self::Digit,
            b'-' => Self::Dash,
            b':' => Self::Colon,
            b'@' => Self::At,
            b' ' => Self::Space,
            b'=' => Self::Equals,
            9..=13
            | b'"'
            | b'\''
            | b'`'
            | b'<'
            | b'>'
            | b'('
            | b')'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b','
            | b';' => Self::Separator,
            _ => Self::Other,
        }
    }
}

/// The findings in a text so far.
#[derive(Default)]
struct Findings {
    dashes: usize,
    is_assigned: bool,
    word: Option<&'static str>,
    is_card: bool,
}

/// Returns the kind of sensitive data that `value` probably contains, if any.
///
/// A text is read once, byte by byte; a check looks closer only where its characters occur.
pub(super) fn kind(value: &str) -> Option<&'static str> {
    let mut found = Findings::default();
    if value.is_ascii() {
        found.read(value);
    } else {
        // White space that is not ASCII ends words and numbers, too.
        let is_end = |it: char| !it.is_ascii() && it.is_whitespace();
        value.split(is_end).for_each(|it| found.read(it));
        // A value may follow its name after such white space.
        found.is_assigned = value.match_indices([':', '=']).any(|(at, _)| is_assigned(value, at));
    }
    if found.dashes >= 5 && value.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    if found.is_assigned {
        return Some("a password or key");
    }
    found.word.or_else(|| found.is_card.then_some("a payment card number"))
}

impl Findings {
    /// Reads a text, or a part between white space.
    fn read(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let (mut word, mut has_sign) = (0, false);
        let (mut run, mut digits) = (0, 0_usize);
        for (at, byte) in bytes.iter().enumerate() {
            let class = Class::of(*byte);
            match class {
                Class::Digit => {
                    digits += 1;
                    has_sign = true;
                    continue;
                }
                Class::Dash => {
                    self.dashes += 1;
                    continue;
                }
                Class::Space => {}
                _ => {
                    if digits > 0 {
                        self.end_run(bytes.get(run..at), digits);
                        digits = 0;
                    }
                    run = at + 1;
                }
            }
            match class {
                Class::Space | Class::Separator | Class::Equals => {
                    self.end_word(bytes.get(word..at), has_sign);
                    (word, has_sign) = (at + 1, false);
                }
                Class::At => has_sign = true,
                _ => {}
            }
            if matches!(class, Class::Colon | Class::Equals) {
                self.is_assigned = self.is_assigned || is_assigned(text, at);
            }
        }
        self.end_run(bytes.get(run..), digits);
        self.end_word(bytes.get(word..), has_sign);
    }

    /// Reads a word. One without a digit or `@` can be a JWT or a token of letters only.
    fn end_word(&mut self, word: Option<&[u8]>, has_sign: bool) {
        let Some(mut word) = word else { return };
        let is_candidate = has_sign || word.starts_with(b"eyJ") || word.starts_with(b"hf_");
        if self.word.is_some() || !is_candidate {
            return;
        }
        while let [rest @ .., b'.' | b':' | b'!' | b'?'] = word {
            word = rest;
        }
        self.word = kind_of_word(word);
    }

    /// Reads a run of digits, spaces and dashes.
    fn end_run(&mut self, run: Option<&[u8]>, digits: usize) {
        if CARD_DIGITS.contains(&digits) {
            self.is_card = self.is_card || run.is_some_and(is_card_number);
        }
    }
}

/// Returns the kind of sensitive data that a word is, if any.
fn kind_of_word(word: &[u8]) -> Option<&'static str> {
    if is_access_key(word) {
        return Some("an access key or token");
    }
    if is_email(word) {
        return Some("an e-mail address");
    }
    is_us_social_security_number(word).then_some("a social security number")
}

/// Returns true if `word` has the shape of a well-known access key, or of a JWT.
fn is_access_key(word: &[u8]) -> bool {
    const PREFIXES: [(&[u8], usize); 10] = [
        (b"AKIA", 20),
        (b"ASIA", 20),
        (b"AIza", 39),
        (b"ghp_", 36),
        (b"gho_", 36),
        (b"github_pat_", 40),
        (b"sk-", 24),
        (b"xoxb-", 24),
        (b"xoxp-", 24),
        (b"glpat-", 26),
    ];
    // Of letters and digits only, since names such as `npm_config_cache` begin alike.
    const PLAIN_PREFIXES: [(&[u8], usize); 6] = [
        (b"sk_live_", 24),
        (b"sk_test_", 24),
        (b"rk_live_", 24),
        (b"rk_test_", 24),
        (b"hf_", 37),
        (b"npm_", 40),
    ];
    let dots = || word.split(|it| *it == b'.').skip(1).count();
    let is_jwt = || word.starts_with(b"eyJ") && word.len() > 40 && dots() == 2;
    let is_key = || {
        PREFIXES.iter().any(|(it, len)| word.starts_with(it) && word.len() >= *len)
            && word.iter().any(u8::is_ascii_digit)
    };
    let is_possible = || word.iter().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(it));
    let is_plain_key = || {
        let rest = |it: &(&[u8], usize)| word.strip_prefix(it.0).filter(|_| word.len() >= it.1);
        let rest = PLAIN_PREFIXES.iter().find_map(rest);
        rest.is_some_and(|it| it.iter().all(u8::is_ascii_alphanumeric))
    };
    is_plain_key() || (is_jwt() || is_key()) && is_possible()
}

/// Returns true if the `:` or `=` at the byte `at` stands between a name such as `password` and a
/// word that looks like a secret: at least six characters, one of them not a letter; or if it is the
/// `:` of a URL with a password.
fn is_assigned(text: &str, at: usize) -> bool {
    const NAMES: [&[u8]; 12] = [
        b"password",
        b"passwd",
        b"passphrase",
        b"secret",
        b"api_key",
        b"api-key",
        b"apikey",
        b"access_key",
        b"access-key",
        b"accesskey",
        b"secret_key",
        b"token",
    ];
    let after = text.get(at + 1..).unwrap_or_default();
    if after.strip_prefix("//").is_some_and(has_password) {
        return true;
    }
    let quotes = ['"', '\'', ' '];
    let before = text.get(..at).unwrap_or_default().trim_end_matches(quotes).as_bytes();
    let is_name = |name: &&[u8]| {
        let start = before.len().checked_sub(name.len());
        start.and_then(|it| before.get(it..)).is_some_and(|it| it.eq_ignore_ascii_case(name))
    };
    if !NAMES.iter().any(is_name) {
        return false;
    }
    let after = after.trim_start_matches(quotes);
    looks_secret(after.chars().take_while(|c| !(c.is_whitespace() || "\"',;".contains(*c))))
}

/// Returns true if `rest`, the text behind the `//` of a URL, begins with a user and a password, as
/// in `user:pass@host`. Placeholders such as `$PASSWORD` and `***` are not passwords. It reads at
/// most up to the next slash, so that `://://…` takes linear time.
fn has_password(rest: &str) -> bool {
    let is_end = |it: &u8| {
        matches!(Class::of(*it), Class::Space | Class::Separator) && !b"{}".contains(it)
            || b"/?#\\|".contains(it)
    };
    let mut bytes = rest.bytes().take_while(|it| !is_end(it));
    if !bytes.by_ref().any(|it| it == b':') {
        return false;
    }
    let (mut length, mut is_masked) = (0_usize, true);
    for byte in bytes {
        match byte {
            b'@' => return length > 0 && !is_masked,
            b'$' | b'{' if length == 0 => return false,
            _ => is_masked &= b"*xX.".contains(&byte),
        }
        length = length.saturating_add(1);
    }
    false
}

/// Returns true if a word has at least six characters, one of them not a letter. Dots at its end do
/// not count as such. It reads no further than it must, so that `token:token:…` takes linear time.
fn looks_secret(word: impl Iterator<Item = char>) -> bool {
    let (mut is_odd, mut is_after_dot) = (false, false);
    for (place, c) in word.enumerate() {
        if c == '.' {
            is_after_dot = true;
        } else {
            is_odd |= is_after_dot || (c.is_ascii() && !c.is_ascii_alphabetic());
        }
        if is_odd && place >= 5 {
            return true;
        }
    }
    false
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

/// Returns true if a run of digits, spaces and dashes is the number of a payment card: it starts with
/// 3 to 6, has a valid check digit (Luhn, ISO/IEC 7812-1), and groups of at least three digits if any.
fn is_card_number(run: &[u8]) -> bool {
    let digits = run.iter().filter(|it| it.is_ascii_digit()).map(|it| u32::from(it - b'0'));
    let mut groups = run.split(|it| !it.is_ascii_digit()).filter(|it| !it.is_empty());
    let is_grouped = groups.clone().count() == 1 || groups.all(|it| it.len() >= 3);
    let doubled = |(nth, digit): (usize, u32)| match (nth % 2, digit * 2) {
        (0, _) => digit,
        (_, twice) => twice / 10 + twice % 10,
    };
    let sum: u32 = digits.clone().rev().enumerate().map(doubled).sum();
    let mut digits = digits;
    is_grouped && sum.is_multiple_of(10) && digits.next().is_some_and(|it| (3..=6).contains(&it))
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
            ("x\u{a0}4111111111111111\u{a0}x", "a payment card number"),
            ("Passwort, token\" : 'gr\u{fc}n-77'", "a password or key"),
            ("zu\u{2003}jane@example.com", "an e-mail address"),
            // These were once stored in sessions with `rejects_secrets`.
            ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "a password or key"),
            ("s3 access_key: \"abc123def\"", "a password or key"),
            ("db postgres://user:pass@host/db", "a password or key"),
            ("(redis://:s3cret@10.0.0.1:6379)", "a password or key"),
            ("gr\u{fc}n https://ci:geheim@host", "a password or key"),
            ("pay with sk_live_aaaaaaaaaaaaaaa1", "an access key or token"),
            ("KEY=sk_test_aaaaaaaaaaaaaaa1", "an access key or token"),
            ("rk_live_aaaaaaaaaaaaaaa1.", "an access key or token"),
            ("glpat-aaaaaaaaaaaaaaaaaaa1", "an access key or token"),
            ("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "an access key or token"),
            ("npm_1a2B3c4D5e6F7g8H9i0J1a2B3c4D5e6F7g8H", "an access key or token"),
            ("Bearer eyJhbGciOi.JIUzIsInR.cCIkpXVCJzzzzzzzzzzzzzzz", "an access key or token"),
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
            "4111\t1111 1111 1111",
            "4111 1111 1111 11 11",
            "token\u{a0}: hunter2!",
            "https://host:443/x and http://[::1]:80/a:b@c, see https://example.com/@team:1",
            "https://user@host/x, ssh://git@host:22/repo.git, https://user:@host",
            "postgres://user:$DB_PASSWORD@host, postgres://user:${PASS}@host, http://u:***@h",
            "https://host:8080 or user@host; http://a:b c@d",
            "access_key: unknown, npm_config_cache_max_age_of_packages_in_days_2",
            "hf_hub_download_of_a_model_file_to_a_cache_2",
            "sk_live_ and sk_test_ keys, glpat- tokens, hf_ and npm_ ones",
            "token: letters... secret=ab-c. password: unknown.",
        ] {
            assert_eq!(kind(text), None, "{text}");
        }
    }
}
