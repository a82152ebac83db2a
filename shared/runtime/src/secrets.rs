//! Secrets, read from Secrets Manager at run time and kept for a while: a rotated secret is followed without a deployment.
//!
//! A secret has two versions that count: the current one, which we sign with, and while it is being changed the one before it, which
//! the other side may still sign with. Both are read together, by the one permission `secretsmanager:GetSecretValue`.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::SdkError;
use aws_sdk_secretsmanager::operation::get_secret_value::{GetSecretValueError, GetSecretValueOutput};
use expiry_core::time::{Clock, Timestamp};

use crate::logs::chain;
use crate::metrics::{Metric, Metrics};

/// How long a secret is used before it is read again.
pub const FRESH: Duration = Duration::from_secs(300);
/// The least time between two readings of a secret that is held: anybody can send what fits no key.
pub const REREAD: Duration = Duration::from_secs(30);

const CURRENT: &str = "AWSCURRENT";
const PREVIOUS: &str = "AWSPREVIOUS";

/// A secret text: it can be used, and never stands in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

/// A secret as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// What we sign with.
    pub current: Secret,
    /// What the other side may still sign with; `None` when the secret was never changed.
    pub previous: Option<Secret>,
}

/// Why a secret is not there.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is no such secret, or it has no current version.
    #[error("the secret {0} has no current version")]
    Absent(String),
    /// It is empty, or bytes instead of a text.
    #[error("the secret {0} is not a text")]
    NotText(String),
    /// Secrets Manager did not answer, or refused.
    #[error("the secret {id} cannot be read")]
    Unread {
        /// Which.
        id: String,
        /// What the SDK says.
        #[source]
        source: Box<SdkError<GetSecretValueError>>,
    },
}

/// One secret of Secrets Manager, kept in memory.
#[derive(Debug)]
pub struct RotatingSecret {
    client: Client,
    id: String,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    held: Mutex<Option<Held>>,
}

#[derive(Debug)]
struct Held {
    versions: Versions,
    /// When it was read.
    read_at: Timestamp,
    /// When it was last tried to read it; nobody waits for whoever is at it.
    tried_at: Timestamp,
}

impl RotatingSecret {
    /// The secret with the ARN or name `id`; it is read at its first use.
    #[must_use]
    pub fn new(client: Client, id: String, clock: Arc<dyn Clock>, metrics: Metrics) -> RotatingSecret {
        RotatingSecret { client, id, clock, metrics, held: Mutex::default() }
    }

    /// The secret as it was within the last `age`: [`FRESH`], or [`REREAD`] for what fits no version that is held. One that cannot be
    /// read again stays in use.
    ///
    /// # Errors
    /// When it was never read and cannot be.
    pub async fn no_older_than(&self, age: Duration) -> Result<Versions, SecretError> {
        let now = self.clock.now();
        let mut known = None;
        if let Some(held) = self.held().as_mut() {
            if now.since(held.read_at) < age || now.since(held.tried_at) < REREAD {
                return Ok(held.versions.clone());
            }
            held.tried_at = now;
            known = Some(held.versions.clone());
        }
        match self.read(known).await {
            Ok(versions) => {
                *self.held() = Some(Held { versions: versions.clone(), read_at: now, tried_at: now });
                Ok(versions)
            }
            Err(error) => {
                tracing::error!(error = %chain(&error), "a secret is not to be read");
                self.metrics.count(Metric::SecretUnread, 1, &[]);
                self.held().as_ref().map(|held| held.versions.clone()).ok_or(error)
            }
        }
    }

    /// Both versions. Without the previous one the current one does: what was `known` before stands in for it.
    async fn read(&self, known: Option<Versions>) -> Result<Versions, SecretError> {
        let current = self.version(CURRENT).await?.ok_or_else(|| SecretError::Absent(self.id.clone()))?;
        let previous = self.version(PREVIOUS).await.unwrap_or_else(|error| {
            tracing::warn!(error = %chain(&error), "the previous version of a secret is not to be read");
            known.and_then(|known| if known.current == current { known.previous } else { Some(known.current) })
        });
        Ok(Versions { current, previous })
    }

    async fn version(&self, stage: &str) -> Result<Option<Secret>, SecretError> {
        match self.client.get_secret_value().secret_id(&self.id).version_stage(stage).send().await {
            Ok(answer) => self.text(answer).map(Some),
            Err(error)
                if error.as_service_error().is_some_and(GetSecretValueError::is_resource_not_found_exception) =>
            {
                Ok(None)
            }
            Err(source) => Err(SecretError::Unread { id: self.id.clone(), source: Box::new(source) }),
        }
    }

    fn text(&self, answer: GetSecretValueOutput) -> Result<Secret, SecretError> {
        let text = answer.secret_string.filter(|text| !text.is_empty());
        text.map(Secret).ok_or_else(|| SecretError::NotText(self.id.clone()))
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{SetClock, Wire, at_millis};

    const ABSENT: &str = r#"{"__type":"ResourceNotFoundException","Message":"no such version"}"#;
    const REFUSED: &str = r#"{"__type":"InternalServiceError","Message":"not now"}"#;

    struct Scene {
        wire: Wire,
        clock: SetClock,
        secret: RotatingSecret,
    }

    fn scene() -> Scene {
        let (wire, clock) = (Wire::default(), SetClock::at(at_millis(0)));
        let client = Client::from_conf(wire.configure_secrets(aws_sdk_secretsmanager::Config::builder()).build());
        let ticking: Arc<dyn Clock> = Arc::new(clock.clone());
        let metrics = Metrics::new(Arc::clone(&ticking), Arc::new(|_| ()));
        let secret = RotatingSecret::new(client, "sim".to_owned(), ticking, metrics);
        Scene { wire, clock, secret }
    }

    impl Scene {
        /// The next reading finds these.
        fn holds(&self, current: &str, previous: Option<&str>) {
            self.wire.answer(200, &format!(r#"{{"SecretString":"{current}"}}"#));
            match previous {
                Some(previous) => self.wire.answer(200, &format!(r#"{{"SecretString":"{previous}"}}"#)),
                None => self.wire.answer(400, ABSENT),
            }
        }

        fn at(&self, seconds: u64) {
            self.clock.set(at_millis(i64::try_from(seconds * 1_000).expect("a time")));
        }

        async fn used(&self) -> String {
            self.secret.no_older_than(FRESH).await.expect("a secret").current.expose().to_owned()
        }
    }

    #[tokio::test]
    async fn a_secret_is_read_once_in_five_minutes_and_a_rotated_one_is_followed() {
        let scene = scene();
        scene.holds("one", None);
        assert_eq!(scene.secret.no_older_than(FRESH).await.expect("read").previous, None);
        scene.at(299);
        assert_eq!((scene.used().await, scene.wire.sent().len()), ("one".to_owned(), 2));
        scene.at(300);
        scene.holds("two", Some("one"));
        let versions = scene.secret.no_older_than(FRESH).await.expect("read");
        assert_eq!((versions.current.expose(), versions.previous.as_ref().map(Secret::expose)), ("two", Some("one")));
        let asked: Vec<_> = scene.wire.sent().iter().map(|call| call.body["VersionStage"].clone()).collect();
        assert_eq!(asked, ["AWSCURRENT", "AWSPREVIOUS", "AWSCURRENT", "AWSPREVIOUS"]);
    }

    #[tokio::test]
    async fn what_fits_no_version_makes_it_read_again_but_not_more_often_than_twice_a_minute() {
        let scene = scene();
        scene.holds("one", None);
        scene.used().await;
        scene.at(29);
        assert_eq!(scene.secret.no_older_than(REREAD).await.expect("held").current.expose(), "one");
        scene.at(30);
        scene.holds("two", Some("one"));
        assert_eq!(scene.secret.no_older_than(REREAD).await.expect("read").current.expose(), "two");
        scene.at(59);
        assert_eq!(scene.secret.no_older_than(REREAD).await.expect("held").current.expose(), "two");
        assert_eq!(scene.wire.sent().len(), 4);
    }

    #[tokio::test]
    async fn a_secret_that_cannot_be_read_again_stays_in_use_and_is_tried_again_after_half_a_minute() {
        let scene = scene();
        scene.holds("one", None);
        scene.used().await;
        scene.at(300);
        scene.wire.answer(500, REFUSED);
        assert_eq!(scene.used().await, "one");
        scene.at(329);
        assert_eq!((scene.used().await, scene.wire.sent().len()), ("one".to_owned(), 3));
        scene.at(330);
        scene.holds("two", Some("one"));
        assert_eq!(scene.used().await, "two");
    }

    #[tokio::test]
    async fn without_its_previous_version_a_secret_is_used_and_what_was_used_before_is_the_previous_one() {
        let scene = scene();
        let reads = |current: &str| {
            scene.wire.answer(200, &format!(r#"{{"SecretString":"{current}"}}"#));
            scene.wire.answer(500, REFUSED);
        };
        for (at, current, previous) in [(0, "one", None), (300, "two", Some("one")), (600, "two", Some("one"))] {
            scene.at(at);
            reads(current);
            let versions = scene.secret.no_older_than(FRESH).await.expect("read");
            assert_eq!(
                (versions.current.expose(), versions.previous.as_ref().map(Secret::expose)),
                (current, previous)
            );
        }
    }

    #[tokio::test]
    async fn a_secret_that_was_never_read_is_an_error_with_its_name_and_cause_and_the_next_use_reads_it() {
        let scene = scene();
        scene.wire.answer(500, REFUSED);
        let refused = chain(&scene.secret.no_older_than(FRESH).await.expect_err("unread"));
        assert!(refused.starts_with("the secret sim cannot be read: ") && refused.contains("not now"), "{refused}");
        scene.wire.answer(400, ABSENT);
        let absent = scene.secret.no_older_than(FRESH).await.expect_err("absent");
        assert_eq!(absent.to_string(), "the secret sim has no current version");
        for answer in [r#"{"SecretString":""}"#, r#"{"SecretBinary":"AAAA"}"#] {
            scene.wire.answer(200, answer);
            let bytes = scene.secret.no_older_than(FRESH).await.expect_err("not a text");
            assert_eq!(bytes.to_string(), "the secret sim is not a text");
        }
        scene.holds("one", None);
        assert_eq!(scene.used().await, "one");
    }

    #[test]
    fn a_secret_never_shows_itself() {
        let versions = Versions { current: Secret("hush".to_owned()), previous: Some(Secret("hush".to_owned())) };
        assert!(!format!("{versions:?}").contains("hush"));
    }
}
