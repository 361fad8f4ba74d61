//! Verification: finds the differences between a copy of a packet and the packet (spec 18.5).

use serde_json::Value;

use super::{
    document::checksum,
    packet::Packet,
    reading::{self, escaped},
};
use crate::Error;

/// The most differences that are listed.
pub const DIFFERENCES_MAX: usize = 100;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// True if the document equals the packet.
    pub is_intact: bool,
    /// The checksum that the document should have.
    pub checksum: String,
    /// The places that differ, as JSON pointers, at most [`DIFFERENCES_MAX`].
    pub differences: Vec<String>,
}

/// Compares a JSON document with a packet. Its `token_count` may differ: the checksum leaves it out.
///
/// # Errors
///
/// [`Error::Malformed`] if `document` is no JSON object.
pub fn verify(document: &str, packet: &Packet) -> Result<Verification, Error> {
    let mut given = reading::parse(document)?;
    if !given.is_object() {
        return Err(Error::malformed("invalid packet: the document must be an object"));
    }
    let mut known = packet.value();
    for it in [&mut given, &mut known] {
        if let Some(members) = it.as_object_mut() {
            members.remove("token_count");
        }
    }
    let mut differences = Vec::new();
    compare(&known, &given, &mut String::new(), &mut differences);
    Ok(Verification {
        is_intact: differences.is_empty(),
        checksum: packet.checksum.clone(),
        differences,
    })
}

/// Returns a packet if it has the checksum of its content.
///
/// # Errors
///
/// [`Error::Malformed`] if `document` is no packet; [`Error::PacketAltered`] if the checksum is
/// another.
pub fn check_document(document: &str) -> Result<Packet, Error> {
    let value = reading::parse(document)?;
    let packet = Packet::read(&value)?;
    if checksum(value) == packet.checksum {
        return Ok(packet);
    }
    Err(Error::PacketAltered { differences: Vec::new() })
}

/// Appends the places at which two values differ.
fn compare(known: &Value, given: &Value, place: &mut String, found: &mut Vec<String>) {
    if found.len() >= DIFFERENCES_MAX || known == given {
        return;
    }
    let length = place.len();
    let mut within = |name: &str, a: Option<&Value>, b: Option<&Value>, found: &mut Vec<String>| {
        place.push('/');
        place.push_str(name);
        match (a, b) {
            (Some(a), Some(b)) => compare(a, b, place, found),
            _ if found.len() < DIFFERENCES_MAX => found.push(place.clone()),
            _ => {}
        }
        place.truncate(length);
    };
    match (known, given) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                within(&escaped(name), Some(value), b.get(name), found);
            }
            for name in b.keys().filter(|it| !a.contains_key(*it)) {
                within(&escaped(name), None, None, found);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for nth in 0..a.len().max(b.len()) {
                within(&nth.to_string(), a.get(nth), b.get(nth), found);
            }
        }
        _ => found.push(place.clone()),
    }
}
