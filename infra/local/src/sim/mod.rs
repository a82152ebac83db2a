//! The channel `sim`, simulated (DESIGN §9): the shop's side reaches it on the wire (`/sim/…`), a test tells it what to say
//! (`/_sim/…`).
//!
//! It answers exactly what it was told and does nothing by itself: no payment expires, succeeds or notifies unless somebody says so.
//! Payments live as long as the process.

mod callback;
mod control;
mod payment;
mod reply;
#[cfg(test)]
mod tests;
mod transit;
mod wire;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use expiry_channels::sim::signature::{KeyRing, SigningKey};
use expiry_channels::{ChannelTransport, Headers, HttpRequest, HttpResponse, TransportError, TransportFuture};
use expiry_core::time::Clock;

pub use self::callback::{CALLBACK_PATH, CallbackAnswer, CallbackError, CallbackFuture, CallbackSink};
use self::payment::{Payment, State};
use self::reply::Reply;
pub use self::transit::Transit;
use self::transit::TransitRule;

/// The simulated channel. Clones are handles on the same one.
#[derive(Clone, Debug)]
pub struct SimChannel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    keys: Mutex<KeyRing>,
    clock: Arc<dyn Clock>,
    /// Never held across an await.
    payments: Mutex<HashMap<String, Payment>>,
    callbacks: Mutex<Option<Arc<dyn CallbackSink>>>,
    transit: Mutex<Option<TransitRule>>,
    notified: AtomicU64,
    down: AtomicBool,
}

impl SimChannel {
    /// A channel without payments. `key` is the secret it shares with the shop, `clock` the one clock of the process.
    #[must_use]
    pub fn new(key: SigningKey, clock: Arc<dyn Clock>) -> SimChannel {
        SimChannel(Arc::new(Shared {
            keys: Mutex::new(KeyRing { current: key, previous: None }),
            clock,
            payments: Mutex::default(),
            callbacks: Mutex::default(),
            transit: Mutex::default(),
            notified: AtomicU64::new(0),
            down: AtomicBool::new(false),
        }))
    }

    /// Where callbacks go from now on. Until it is set, `notify` answers 503.
    pub fn set_callback_sink(&self, sink: Arc<dyn CallbackSink>) {
        *lock(&self.0.callbacks) = Some(sink);
    }

    /// The fault `channel_down`: while it is on, no call arrives (DESIGN §9). The control paths and callbacks work on.
    pub fn set_down(&self, down: bool) {
        self.0.down.store(down, Ordering::SeqCst);
    }

    /// Serves one HTTP request to `/sim/…` or `/_sim/…`; 404 for any other path. `path_and_query` begins with `/`.
    ///
    /// While the channel is down a call to `/sim/…` is answered 503, unsigned and unremembered, since a server cannot refuse a
    /// connection that it has accepted.
    pub async fn handle(&self, method: &str, path_and_query: &str, headers: &Headers, body: &[u8]) -> HttpResponse {
        let path = path_and_query.split('?').next().unwrap_or_default();
        if path == "/_sim" || path.starts_with("/_sim/") {
            self.control(method, path, body).await
        } else if self.is_down() {
            Reply::control_problem(503, "CHANNEL_DOWN", "the channel is down")
        } else {
            self.wire(method, path_and_query, headers, body).await
        }
    }

    /// The payer pays, if the payment exists and can still be paid; whether it now is.
    pub fn pay(&self, out_trade_no: &str) -> bool {
        let mut payments = self.payments();
        let Some(payment) = payments.get_mut(out_trade_no) else { return false };
        match payment.state {
            State::NotPay | State::UserPaying | State::NotFound => payment.state = State::Success,
            State::Success => {}
            State::Closed | State::Failed | State::Error => return false,
        }
        true
    }

    /// Whether the payment is paid.
    #[must_use]
    pub fn is_paid(&self, out_trade_no: &str) -> bool {
        self.payments().get(out_trade_no).is_some_and(|payment| payment.state == State::Success)
    }

    /// The secret changes: from now on the channel signs with `key`, and takes what is signed with the one before it too.
    pub fn change_key(&self, key: SigningKey) {
        let mut keys = lock(&self.0.keys);
        let before = std::mem::replace(&mut keys.current, key);
        keys.previous = Some(before);
    }

    fn keys(&self) -> KeyRing {
        lock(&self.0.keys).clone()
    }

    fn is_down(&self) -> bool {
        self.0.down.load(Ordering::SeqCst)
    }

    fn payments(&self) -> MutexGuard<'_, HashMap<String, Payment>> {
        lock(&self.0.payments)
    }
}

/// No invariant spans two statements under these locks, so a panic elsewhere leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The way to the simulated channel without a socket: the same paths, bytes and signatures.
impl ChannelTransport for SimChannel {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        Box::pin(async move {
            if self.is_down() {
                return Err(TransportError::Connection(io::Error::from(io::ErrorKind::ConnectionRefused).into()));
            }
            self.carry(request, deadline).await
        })
    }
}

/// The path and query of an absolute URL.
fn path_of(url: &str) -> &str {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    after_scheme.find('/').map_or("/", |start| &after_scheme[start..])
}
