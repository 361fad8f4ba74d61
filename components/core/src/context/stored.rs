//! Reads the records of the context pipeline from a session's bucket (spec 16.13, 16.14).
//!
//! The decisions and the commits are in `session`.

use super::{
    kept::{
        ENVELOPES_BYTES_MAX, ENVELOPES_MAX, INJECTIONS_MAX, Injection, KeptContext, KeptEnvelope,
        KeptId, MISSING_MAX, Missing,
    },
    rows::{self, Head},
};
use crate::{
    Error,
    kv::{Bucket, Change},
    row::{decode, encode},
};

/// The context pipeline in a bucket, read row by row.
#[derive(Debug)]
pub(crate) struct StoredContext<'a, B>(pub(crate) &'a B);

impl<B: Bucket> StoredContext<'_, B> {
    /// Returns the numbers that were given.
    pub(crate) fn head(&self) -> Result<Head, Error> {
        self.0.get(rows::HEAD)?.map_or_else(|| Ok(Head::default()), |it| decode(&it))
    }

    /// Returns an envelope.
    pub(crate) fn envelope(&self, id: KeptId) -> Result<KeptEnvelope, Error> {
        let bytes = self.0.get(&rows::row(rows::ENVELOPES, id.number))?;
        let bytes = bytes.ok_or_else(|| Error::EnvelopeNotFound { id: id.to_string() })?;
        rows::decode_envelope(&bytes)
    }

    /// Returns the envelopes, oldest first.
    pub(crate) fn envelopes(&self) -> Result<Vec<KeptEnvelope>, Error> {
        let rows = self.0.scan(rows::ENVELOPES, None, u32::MAX)?;
        rows.iter().map(|(_, bytes)| rows::decode_envelope(bytes)).collect()
    }

    /// Returns the injections, oldest first.
    pub(crate) fn injections(&self) -> Result<Vec<Injection>, Error> {
        let rows = self.0.scan(rows::INJECTIONS, None, u32::MAX)?;
        rows.iter().map(|(_, bytes)| rows::decode_injection(bytes)).collect()
    }

    /// Returns missing context.
    pub(crate) fn missing(&self, id: KeptId) -> Result<Missing, Error> {
        let bytes = self.0.get(&rows::row(rows::MISSING, id.number))?;
        let bytes = bytes.ok_or_else(|| Error::MissingNotFound { id: id.to_string() })?;
        rows::decode_missing(&bytes)
    }

    /// Returns all missing context, oldest first.
    pub(crate) fn all_missing(&self) -> Result<Vec<Missing>, Error> {
        let rows = self.0.scan(rows::MISSING, None, u32::MAX)?;
        rows.iter().map(|(_, bytes)| rows::decode_missing(bytes)).collect()
    }

    /// Returns everything that is kept.
    pub(crate) fn all(&self) -> Result<KeptContext, Error> {
        let head = self.head()?;
        Ok(KeptContext {
            last_envelope: head.last_envelope,
            last_injection: head.last_injection,
            last_missing: head.last_missing,
            envelopes: self.envelopes()?,
            injections: self.injections()?,
            missing: self.all_missing()?,
        })
    }

    /// Adds an envelope, and removes the oldest beyond the limits.
    ///
    /// # Errors
    ///
    /// [`Error::EnvelopeLimit`] if it exceeds them alone.
    pub(crate) fn keep(
        head: &mut Head,
        envelope: &KeptEnvelope,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let bytes = envelope.bytes();
        if bytes > ENVELOPES_BYTES_MAX {
            return Err(Error::EnvelopeLimit {
                message: format!(
                    "the envelope has {bytes} bytes, at most {ENVELOPES_BYTES_MAX} are kept; send \
                     references for large items, or leave out keep"
                ),
            });
        }
        head.envelopes.push((envelope.number, bytes));
        let sum = |of: &[(u64, u64)]| of.iter().fold(0, |sum: u64, it| sum.saturating_add(it.1));
        while head.envelopes.len() > ENVELOPES_MAX || sum(&head.envelopes) > ENVELOPES_BYTES_MAX {
            let (number, _) = head.envelopes.remove(0);
            changes.push(Change::Delete(rows::row(rows::ENVELOPES, number)));
        }
        let row = rows::row(rows::ENVELOPES, envelope.number);
        changes.push(Change::put(row, rows::encode_envelope(envelope)?));
        Ok(())
    }

    /// Adds an injection, and removes the oldest beyond the limit.
    pub(crate) fn record(
        head: &mut Head,
        injection: &Injection,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let kept = u64::try_from(INJECTIONS_MAX).unwrap_or(u64::MAX);
        head.oldest_injection = head.oldest_injection.max(1);
        while head.last_injection.saturating_sub(head.oldest_injection) >= kept {
            changes.push(Change::Delete(rows::row(rows::INJECTIONS, head.oldest_injection)));
            head.oldest_injection = head.oldest_injection.saturating_add(1);
        }
        let row = rows::row(rows::INJECTIONS, injection.number);
        changes.push(Change::put(row, rows::encode_injection(injection)?));
        Ok(())
    }

    /// Rejects one more open report beyond the limit.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        let open = self.all_missing()?.iter().filter(|it| it.answer.is_none()).count();
        if open < MISSING_MAX {
            return Ok(());
        }
        Err(Error::EnvelopeLimit {
            message: format!(
                "{open} reports of missing context are open, at most {MISSING_MAX} may be; answer \
                 some of them first"
            ),
        })
    }

    /// Stores missing context, and removes the oldest answers beyond the limit.
    pub(crate) fn put_missing(&self, it: &Missing, changes: &mut Vec<Change>) -> Result<(), Error> {
        if it.answer.is_some() {
            let mut answered = self.all_missing()?;
            answered.retain(|other| other.answer.is_some() && other.id != it.id);
            let excess = answered.len().saturating_add(1).saturating_sub(MISSING_MAX);
            for oldest in answered.iter().take(excess) {
                changes.push(Change::Delete(rows::row(rows::MISSING, oldest.id.number)));
            }
        }
        let row = rows::row(rows::MISSING, it.id.number);
        changes.push(Change::put(row, rows::encode_missing(it)?));
        Ok(())
    }

    /// Returns the changes that replace texts in everything that is kept, with the marks `reason`.
    /// `is_secret` decides by the entry that a text was the value of, if any, and by the text.
    pub(crate) fn redacted(
        &self,
        reason: &str,
        is_secret: &dyn Fn(Option<&super::kept::Part>, &str) -> bool,
    ) -> Result<(u32, Vec<Change>), Error> {
        let (mut count, mut changes) = (0_u32, Vec::new());
        for mut envelope in self.envelopes()? {
            let redacted = envelope.redact(reason, |part, text| is_secret(Some(part), text));
            if redacted > 0 {
                count = count.saturating_add(redacted);
                let row = rows::row(rows::ENVELOPES, envelope.number);
                changes.push(Change::put(row, rows::encode_envelope(&envelope)?));
            }
        }
        for mut it in self.all_missing()? {
            let answer = it.answer.as_mut().map(|it| &mut it.text);
            let mut redacted = 0_u32;
            for text in std::iter::once(&mut it.text).chain(answer) {
                if is_secret(None, text) {
                    *text = format!("[redacted: {reason}]");
                    redacted = redacted.saturating_add(1);
                }
            }
            if redacted > 0 {
                count = count.saturating_add(redacted);
                let row = rows::row(rows::MISSING, it.id.number);
                changes.push(Change::put(row, rows::encode_missing(&it)?));
            }
        }
        Ok((count, changes))
    }
}

/// Encodes the row of the numbers.
pub(crate) fn head_change(head: &Head) -> Result<Change, Error> {
    Ok(Change::put(rows::HEAD, encode(head)?))
}

/// Stores `kept` in a session that has nothing yet.
pub(crate) fn store(kept: &KeptContext, changes: &mut Vec<Change>) -> Result<(), Error> {
    if kept.is_empty() {
        return Ok(());
    }
    let mut envelopes = Vec::new();
    for it in &kept.envelopes {
        envelopes.push((it.number, it.bytes()));
        let row = rows::row(rows::ENVELOPES, it.number);
        changes.push(Change::put(row, rows::encode_envelope(it)?));
    }
    for it in &kept.injections {
        let row = rows::row(rows::INJECTIONS, it.number);
        changes.push(Change::put(row, rows::encode_injection(it)?));
    }
    for it in &kept.missing {
        let row = rows::row(rows::MISSING, it.id.number);
        changes.push(Change::put(row, rows::encode_missing(it)?));
    }
    changes.push(head_change(&Head {
        last_envelope: kept.last_envelope,
        last_injection: kept.last_injection,
        oldest_injection: kept.injections.first().map_or(0, |it| it.number),
        last_missing: kept.last_missing,
        envelopes,
    })?);
    Ok(())
}
