//! The host's services for requests: storage, a clock, a log and a tokenizer.

use std::{fmt, sync::Arc};

use shared_context_core::port::{Bucket, Clock, Kv, KvError, Tokenizer};

use crate::log::AuditLog;

/// Storage, clock, log and tokenizer for the component. Clones share them.
#[derive(Clone)]
pub struct Host {
    pub(crate) kv: Arc<dyn AnyKv>,
    pub(crate) clock: Arc<dyn Clock + Send + Sync>,
    pub(crate) log: Arc<dyn AuditLog + Send + Sync>,
    pub(crate) tokenizer: Arc<dyn Tokenizer + Send + Sync>,
}

impl Host {
    /// Creates a host. It counts tokens exactly if the feature `tokenizer` is on, as it is
    /// by default.
    pub fn new<K>(
        kv: K,
        clock: impl Clock + Send + Sync + 'static,
        log: impl AuditLog + Send + Sync + 'static,
    ) -> Self
    where
        K: Kv<Bucket: Send + 'static> + Send + Sync + 'static,
    {
        Self::of(Arc::new(kv), Arc::new(clock), Arc::new(log))
    }

    pub(crate) fn of(
        kv: Arc<dyn AnyKv>,
        clock: Arc<dyn Clock + Send + Sync>,
        log: Arc<dyn AuditLog + Send + Sync>,
    ) -> Self {
        #[cfg(feature = "tokenizer")]
        let tokenizer = Arc::new(crate::BpeTokenizer);
        #[cfg(not(feature = "tokenizer"))]
        let tokenizer = Arc::new(shared_context_core::port::NoTokenizer);
        Self { kv, clock, log, tokenizer }
    }

    /// Replaces the tokenizer, for example with
    /// [`NoTokenizer`](shared_context_core::port::NoTokenizer).
    #[must_use]
    pub fn with_tokenizer(self, tokenizer: Arc<dyn Tokenizer + Send + Sync>) -> Self {
        Self { tokenizer, ..self }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

/// A [`Kv`] of any type.
pub(crate) trait AnyKv: Send + Sync {
    fn open(&self, name: &str) -> Result<Box<dyn Bucket + Send>, KvError>;
}

impl<K: Kv<Bucket: Send + 'static> + Send + Sync> AnyKv for K {
    fn open(&self, name: &str) -> Result<Box<dyn Bucket + Send>, KvError> {
        Ok(Box::new(Kv::open(self, name)?))
    }
}
