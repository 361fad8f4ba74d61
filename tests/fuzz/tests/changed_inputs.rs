//! Every target on some of its initial inputs, and on others made of them: with a part of a second
//! one inserted, words exchanged, bytes altered, or the end cut off.
//!
//! The inputs are the same in each run. libFuzzer, which `cargo xtask fuzz` starts, searches
//! much longer, and knows which input reaches new code.

#![expect(clippy::panic, reason = "a test")]

use std::panic::{self, AssertUnwindSafe};

use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng, seq::IndexedRandom as _};
use shared_context_fuzz::{compaction, credential, import, json_tool, mcp, records, rest};

/// The longest input, as libFuzzer has it.
const INPUT_BYTES_MAX: usize = 8_192;

/// Calls `run` with `count` initial inputs, spread over all, and each of them altered.
///
/// # Panics
///
/// With the input at which `run` panics.
fn check(count: usize, seeds: &[Vec<u8>], run: fn(&[u8])) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for seed in seeds.iter().step_by(seeds.len().div_ceil(count).max(1)) {
        check_one(seed, run);
        check_one(&altered(&mut rng, seed, seeds), run);
    }
}

fn check_one(input: &[u8], run: fn(&[u8])) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| run(input))) {
        let what = payload.downcast_ref::<String>().map_or("", String::as_str);
        panic!("{what}\nthe input was:\n{}", input.escape_ascii());
    }
}

fn altered(rng: &mut ChaCha8Rng, seed: &[u8], seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = seed.to_vec();
    for _ in 0..rng.random_range(1..=4) {
        let place = |rng: &mut ChaCha8Rng, input: &[u8]| rng.random_range(0..=input.len());
        let at = place(rng, &input);
        match rng.random_range(0..4) {
            0 => input.truncate(at),
            1 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = rng.random();
                }
            }
            2 => {
                let other = seeds.choose(rng).map_or(&[][..], Vec::as_slice);
                let part = other.get(place(rng, other)..).unwrap_or_default();
                input.splice(at..at, part.iter().copied().take(200));
            }
            _ => {
                let other = seeds.choose(rng).map_or(&[][..], Vec::as_slice);
                let words: Vec<_> = words(other).collect();
                let places: Vec<_> = words_at(&input).collect();
                if let (Some(word), Some(place)) = (words.choose(rng), places.choose(rng)) {
                    input.splice(place.clone(), word.iter().copied());
                }
            }
        }
    }
    input.truncate(INPUT_BYTES_MAX);
    input
}

/// Returns where `input` has words: what names, codes and numbers are made of.
fn words_at(input: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.:*".contains(byte);
    input
        .chunk_by(move |a, b| is_part(a) == is_part(b))
        .scan(0, move |from, part| {
            let at = *from..*from + part.len();
            *from = at.end;
            Some((at, part.first().is_some_and(is_part)))
        })
        .filter_map(|(at, is_word)| is_word.then_some(at))
}

fn words(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    words_at(input).filter_map(|at| input.get(at))
}

#[test]
fn the_json_tool_keeps_its_promises() {
    check(100, &json_tool::seeds(), json_tool::run);
}

#[test]
fn http_keeps_its_promises() {
    check(150, &rest::seeds(), rest::run);
}

#[test]
fn mcp_keeps_its_promises() {
    check(150, &mcp::seeds(), mcp::run);
}

#[test]
fn damaged_rows_are_told_apart() {
    check(64, &records::seeds(), records::run);
}

#[test]
fn documents_import_whole_or_not_at_all() {
    check(150, &import::seeds(), import::run);
}

#[test]
fn no_credential_is_forged() {
    check(64, &credential::seeds(), credential::run);
}

#[test]
fn compactions_keep_their_promises() {
    check(150, &compaction::seeds(), compaction::run);
}
