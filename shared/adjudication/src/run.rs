//! The loop: read, decide, ask or commit, decide again. Bounded; no lock is held while a channel is asked.

use expiry_core::decide::{Answer, Command, Commit, Decision, Knowledge, Question, Then, decide};
use expiry_core::ids::OrderId;
use expiry_core::limits;
use expiry_core::time::Timestamp;
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::Metric;
use expiry_runtime::skew::UntrustedClock;
use expiry_store::{CommitError, Entry, EntryKind, Loaded, ReadError, Unavailable};

use crate::Context;

/// A command that was carried out.
#[derive(Debug)]
pub struct Ran<O> {
    /// The order as it is now.
    pub order: Loaded,
    /// What the command came to.
    pub outcome: O,
    /// When it was decided.
    pub at: Timestamp,
}

/// Why a command was not carried out. Nothing of it is lost: whoever gave it may give it again.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no such order, or not yet.
    #[error("there is no such order")]
    NotFound,
    /// The order could not be read.
    #[error("the order could not be read")]
    Read(#[from] ReadError),
    /// The clock may not be decided by.
    #[error("the clock is not trusted")]
    Clock(#[from] UntrustedClock),
    /// Others kept writing to the same rows.
    #[error("the order stayed contended")]
    Contended,
    /// The database did not answer; it is not known whether a write was applied.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl RunError {
    /// Whether it is contention, which never counts as a failed receive (DESIGN §6).
    #[must_use]
    pub fn is_contention(&self) -> bool {
        matches!(self, RunError::Contended)
    }
}

impl Context {
    /// Reads order `id` and carries `command` out on it.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn run<C: Command>(&self, id: &OrderId, command: &C) -> Result<Ran<C::Outcome>, RunError> {
        let order = self.read(id).await?;
        self.run_on(order, command).await
    }

    /// Carries `command` out on an order that was just read or written.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn run_on<C: Command>(&self, mut order: Loaded, command: &C) -> Result<Ran<C::Outcome>, RunError> {
        let mut known = Knowledge::default();
        let mut questions = 0;
        for _ in 0..limits::DECISION_ROUNDS {
            let now = match self.trusted_now() {
                Err(UntrustedClock::Unread) => {
                    order = self.read(&order.order.id).await?;
                    self.trusted_now()?
                }
                now => now?,
            };
            match decide(&order.order, command, &known, now) {
                Decision::Done(outcome) => return Ok(Ran { order, outcome, at: now }),
                Decision::Ask(question) => {
                    // A coupon's terms are read from the database: that takes a moment, and every version needs it anew.
                    let to_a_channel = !matches!(question, Question::Coupon(_));
                    if to_a_channel && questions >= limits::QUESTIONS {
                        return Err(self.contended());
                    }
                    questions += usize::from(to_a_channel);
                    let answer = self.ask(&order.order, question).await?;
                    known.learn(&order.order, answer);
                }
                Decision::Commit(commit) => match self.store.commit(&order, &commit).await {
                    Ok(written) => {
                        self.announce(&order, &written, &commit, now).await;
                        order = written;
                        match commit.then {
                            Then::Done(outcome) => return Ok(Ran { order, outcome, at: now }),
                            Then::Continue => {}
                        }
                    }
                    Err(CommitError::Lost(Some(latest))) => order = *latest,
                    Err(CommitError::Lost(None)) => order = self.read(&order.order.id).await?,
                    Err(CommitError::Refused(refusal)) => known.refuse(commit.on_version, refusal),
                    Err(CommitError::Contended) => return Err(self.contended()),
                    Err(CommitError::Unavailable(unavailable)) => return Err(unavailable.into()),
                    Err(CommitError::Unreadable(error)) => return Err(ReadError::Unreadable(error).into()),
                },
            }
        }
        Err(self.contended())
    }

    /// The order `id` as it is now.
    ///
    /// # Errors
    /// [`RunError::NotFound`], [`RunError::Read`].
    pub async fn read(&self, id: &OrderId) -> Result<Loaded, RunError> {
        self.store.load(id).await?.ok_or(RunError::NotFound)
    }

    fn contended(&self) -> RunError {
        self.metrics.count(Metric::Contention, 1, &[]);
        RunError::Contended
    }

    async fn ask(&self, order: &expiry_core::order::Order, question: Question) -> Result<Answer, RunError> {
        let (answer, conversation) = self.put_question(order, question).await?;
        if let Some(conversation) = conversation {
            let entry = Entry {
                at: self.clock.now(),
                version: order.version,
                kind: EntryKind::Conversation,
                body: conversation.to_json(),
            };
            self.record(&order.id, &entry).await;
        }
        Ok(answer)
    }

    /// Adds to the case file. Evidence never stands in the way of a decision: what cannot be written is logged.
    pub async fn record(&self, order: &OrderId, entry: &Entry) {
        if let Err(error) = self.store.record(order, entry).await {
            tracing::warn!(order_id = %order, error = %chain(&error), entry = %entry.body, "evidence was not recorded");
        }
    }

    async fn announce<O>(&self, before: &Loaded, after: &Loaded, commit: &Commit<O>, now: Timestamp) {
        let (from, order) = (before.order.status, &after.order);
        if from != order.status {
            let (from, to) = (from.name(), order.status.name());
            tracing::info!(order_id = %order.id, from, to, version = order.version, "the order moved");
        }
        for signal in &commit.signals {
            self.raise(&order.id, signal, now).await;
        }
    }
}
