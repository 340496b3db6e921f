//! Credentials that are fetched when they are needed, and again before they end.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use object_store::CredentialProvider;
use tokio::sync::Mutex;

/// A credential, and when it ends; `None`: never.
pub(super) type Fetched<C> = (C, Option<Timestamp>);

type Future<T> = Pin<Box<dyn std::future::Future<Output = T> + Send>>;
type Fetch<C> = Box<dyn Fn() -> Future<object_store::Result<Fetched<C>>> + Send + Sync>;

/// A credential is fetched again when it has less than this left.
const MARGIN: Duration = Duration::from_secs(300);

/// Fetches credentials and keeps them for as long as they hold.
pub(super) struct Provider<C> {
    what: &'static str,
    fetch: Fetch<C>,
    kept: Mutex<Option<(Arc<C>, Option<Timestamp>)>>,
}

impl<C> Provider<C> {
    pub(super) fn new<F>(what: &'static str, fetch: impl Fn() -> F + Send + Sync + 'static) -> Arc<Self>
    where
        F: std::future::Future<Output = object_store::Result<Fetched<C>>> + Send + 'static,
    {
        Arc::new(Self { what, fetch: Box::new(move || Box::pin(fetch())), kept: Mutex::new(None) })
    }
}

impl<C> fmt::Debug for Provider<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("what", &self.what).finish_non_exhaustive()
    }
}

impl<C: fmt::Debug + Send + Sync + 'static> CredentialProvider for Provider<C> {
    type Credential = C;

    // What `#[async_trait]` makes of `async fn`.
    fn get_credential<'a, 'b>(
        &'a self,
    ) -> Pin<Box<dyn std::future::Future<Output = object_store::Result<Arc<C>>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let mut kept = self.kept.lock().await;
            if let Some((credential, ends)) = &*kept
                && ends.is_none_or(|ends| {
                    ends.duration_since(Timestamp::now()).unsigned_abs() > MARGIN && ends > Timestamp::now()
                })
            {
                return Ok(Arc::clone(credential));
            }
            let (credential, ends) = (self.fetch)().await?;
            let credential = Arc::new(credential);
            *kept = Some((Arc::clone(&credential), ends));
            Ok(credential)
        })
    }
}

/// Somebody said no, and would say so again.
pub(super) fn denied(why: String) -> object_store::Error {
    object_store::Error::Unauthenticated { path: "credentials".to_owned(), source: why.into() }
}

/// Nobody answered; it may work the next time.
pub(super) fn failed(why: String) -> object_store::Error {
    object_store::Error::Generic { store: "credentials", source: why.into() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_credential_is_fetched_again_only_before_it_ends() {
        for (lasts, fetches) in [(None, 1), (Some(3_600), 1), (Some(200), 3), (Some(-5), 3)] {
            let counter = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&counter);
            let provider = Provider::new("test", move || {
                let number = counted.fetch_add(1, Ordering::SeqCst);
                let ends = lasts.map(|seconds| Timestamp::now() + jiff::SignedDuration::from_secs(seconds));
                async move { Ok((number, ends)) }
            });
            for _ in 0..3 {
                provider.get_credential().await.unwrap();
            }
            assert_eq!(counter.load(Ordering::SeqCst), fetches, "{lasts:?}");
        }
    }
}
