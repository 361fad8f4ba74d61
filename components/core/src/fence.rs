//! Fences that mark a text as data, so that it cannot pass for something else.

/// Fewest backticks of a fence.
const LENGTH_MIN: usize = 3;

/// Returns a fence for `text`: more backticks than it has in a row anywhere.
pub fn around(text: &str) -> String {
    let mut longest = 0_usize;
    let mut current = 0_usize;
    // Most texts have no backtick, and a search for one byte is faster.
    if text.as_bytes().contains(&b'`') {
        for byte in text.bytes() {
            current = if byte == b'`' { current.saturating_add(1) } else { 0 };
            longest = longest.max(current);
        }
    }
    "`".repeat(longest.saturating_add(1).max(LENGTH_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        for (text, fence) in
            [("", "```"), ("a`b``c", "```"), ("```\nx\n```", "````"), ("`````", "``````")]
        {
            assert_eq!(around(text), fence, "{text}");
        }
    }
}
