//! `ClientRequestToken`s that age on the movable clock.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use expiry_core::time::Timestamp;

/// How long DynamoDB takes the same token for the same transaction.
const LIFETIME: Duration = Duration::from_secs(600);

/// The tokens in use. The engine remembers tokens by real time only; so it is given another token of our own for each use of a
/// caller's token, and forgets when we give it a new one.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    by_token: HashMap<String, Use>,
    /// Every use in order of time, also those forgotten since.
    by_age: VecDeque<(Timestamp, String)>,
    uses: u64,
}

#[derive(Clone, Debug)]
struct Use {
    first_at: Timestamp,
    engine_token: String,
}

/// The token to give the engine.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) engine_token: String,
    is_new: bool,
}

impl Tokens {
    /// The engine's token for `token` at `now`: the same one until the caller's token has aged.
    pub(crate) fn claim(&mut self, token: &str, now: Timestamp) -> Claim {
        while let Some((_, aged)) = self.by_age.pop_front_if(|(first_at, _)| now.since(*first_at) >= LIFETIME) {
            // A token that failed and was used again since is younger than this entry.
            if self.by_token.get(&aged).is_some_and(|used| now.since(used.first_at) >= LIFETIME) {
                self.by_token.remove(&aged);
            }
        }
        if let Some(used) = self.by_token.get(token) {
            return Claim { engine_token: used.engine_token.clone(), is_new: false };
        }
        self.uses += 1;
        let engine_token = format!("use-{}", self.uses);
        self.by_age.push_back((now, token.to_owned()));
        self.by_token.insert(token.to_owned(), Use { first_at: now, engine_token: engine_token.clone() });
        Claim { engine_token, is_new: true }
    }

    /// Forgets a token whose first transaction failed, as DynamoDB does.
    pub(crate) fn failed(&mut self, token: &str, claim: &Claim) {
        if claim.is_new && self.by_token.get(token).is_some_and(|used| used.engine_token == claim.engine_token) {
            self.by_token.remove(token);
        }
    }
}
