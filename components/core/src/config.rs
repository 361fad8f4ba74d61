//! What a session is created with.

use crate::{
    Error,
    namespace::Namespace,
    store::Limits,
    tokens::{Estimator, Tokens},
};

/// The configuration of a session. Fixed at its creation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// How much it may hold.
    pub limits: Limits,
    /// How it counts tokens.
    pub estimator: Estimator,
    /// Its key conventions; `None` means the domain-neutral template.
    pub namespace: Option<Namespace>,
}

/// The largest value limit a session may have.
pub const VALUE_TOKENS_LIMIT_MAX: Tokens = Tokens(50_000);
/// The largest store limit a session may have.
pub const STORE_TOKENS_LIMIT_MAX: Tokens = Tokens(1_000_000);
/// The largest number of keys a session may allow.
pub const KEYS_LIMIT_MAX: u32 = 10_000;

const _: () = assert!(VALUE_TOKENS_LIMIT_MAX.0 <= STORE_TOKENS_LIMIT_MAX.0);

impl Config {
    /// Checks that the limits are in range and fit each other.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], naming the member and its range.
    pub fn check(&self) -> Result<(), Error> {
        let Limits { value_tokens_max, store_tokens_max, keys_max } = self.limits;
        in_range("value_tokens_max", value_tokens_max.0, VALUE_TOKENS_LIMIT_MAX.0)?;
        in_range("store_tokens_max", store_tokens_max.0, STORE_TOKENS_LIMIT_MAX.0)?;
        in_range("keys_max", keys_max, KEYS_LIMIT_MAX)?;
        if value_tokens_max > store_tokens_max {
            return Err(Error::malformed(format!(
                "config.value_tokens_max is {}, more than config.store_tokens_max, {}: \
                 one value must fit the store",
                value_tokens_max.0, store_tokens_max.0
            )));
        }
        self.namespace.as_ref().map_or(Ok(()), Namespace::check)
    }
}

fn in_range(member: &str, value: u32, max: u32) -> Result<(), Error> {
    if (1..=max).contains(&value) {
        Ok(())
    } else {
        Err(Error::malformed(format!("config.{member} is {value}; it must be 1 to {max}")))
    }
}
