//! A call ends by its deadline in a fact, whatever happens on the way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::scene::*;
use expiry_channels::sim::Sim;
use expiry_channels::transport::ANSWER_BYTES;
use expiry_channels::{
    ChannelClient, ChannelTransport, Channels, HttpMethod, HttpRequest, HttpTransport, TransportError, TransportFuture,
};
use expiry_core::fact::{Cause, CloseOutcome, PaymentFact, PlaceOutcome, RefundFact};
use expiry_core::ids::ChannelId;
use expiry_core::time::{Clock, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const LONG: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct StandingClock;

impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        now()
    }
}

/// Never answers, and keeps the deadlines it was given.
#[derive(Debug, Default)]
struct Silence(Mutex<Vec<Duration>>);

impl ChannelTransport for Silence {
    fn send(&self, _: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        self.0.lock().expect("no panic").push(deadline);
        Box::pin(async move { Err(TransportError::Timeout(deadline)) })
    }
}

fn client(channel: Sim, transport: Arc<dyn ChannelTransport>) -> ChannelClient {
    ChannelClient::new(Arc::new(channel), transport, Arc::new(StandingClock), Duration::from_secs(3))
}

#[tokio::test]
async fn a_call_without_answer_is_in_doubt_or_unknown_and_never_a_fact() {
    let silence = client(sim(), Arc::new(Silence::default()));
    let cause = Cause::new("timeout");
    assert_eq!(silence.place(&place(), LONG).await.answer, PlaceOutcome::InDoubt(cause.clone()));
    assert_eq!(silence.query(&attempt(), LONG).await.answer, PaymentFact::Unknown(cause.clone()));
    assert_eq!(silence.close(&attempt(), LONG).await.answer, CloseOutcome::Unknown(cause.clone()));
    assert_eq!(silence.refund(&refund(), LONG).await.answer, RefundFact::Unknown(cause.clone()));
    let answered = silence.query_refund(&refund(), LONG).await;
    assert_eq!(answered.answer, RefundFact::Unknown(cause));
    assert_eq!(answered.sent_at, now());
}

#[tokio::test]
async fn the_lower_of_the_callers_and_the_channels_deadline_applies() {
    let silence = Arc::new(Silence::default());
    let client = client(sim(), silence.clone());
    client.query(&attempt(), LONG).await;
    client.query(&attempt(), Duration::from_millis(70)).await;
    assert_eq!(*silence.0.lock().expect("no panic"), [Duration::from_secs(3), Duration::from_millis(70)]);
}

#[test]
fn a_channel_is_found_by_its_name_only_when_it_is_enabled() {
    let channels: Channels = [client(sim(), Arc::new(Silence::default()))].into_iter().collect();
    let id = ChannelId::new("sim").expect("a name");
    assert_eq!(channels.get(&id).map(|client| client.channel().id().clone()), Some(id.clone()));
    assert!(channels.get(&ChannelId::new("stripe").expect("a name")).is_none());
    assert_eq!(channels.ids().collect::<Vec<_>>(), [&id]);
}

#[test]
fn a_channel_without_secret_or_address_is_not_set_up() {
    assert!(Sim::new("http://sim.test", "").is_err());
    for url in ["", "sim.test", "ftp://sim.test", "https://"] {
        assert!(Sim::new(url, SECRET).is_err(), "{url}");
    }
}

/// A server on a real socket that reads one request to the end of its body `{}`, answers `answer` and falls silent; its address and what it read.
async fn server(answer: Vec<u8>) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let read = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = Vec::new();
        while !request.ends_with(b"{}") {
            assert_ne!(stream.read_buf(&mut request).await.expect("a request"), 0, "hung up early");
        }
        // The client may hang up in the middle of an answer that is too long.
        let _ = stream.write_all(&answer).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        String::from_utf8_lossy(&request).into_owned()
    });
    (address, read)
}

fn post(url: String) -> HttpRequest {
    let headers = [("Sim-Signature", "t=1,v1=ab")].into_iter().collect();
    HttpRequest { method: HttpMethod::Post, url, headers, body: "{}".into() }
}

#[tokio::test]
async fn the_network_carries_method_path_headers_and_bytes_both_ways() {
    let (address, read) =
        server(b"HTTP/1.1 404 Not Found\r\nSim-Signature: x\r\nContent-Length: 3\r\n\r\na\0b".to_vec()).await;
    let answer = HttpTransport::new().send(post(format!("{address}/sim/payments/1?merchant_id=m")), LONG).await;
    let answer = answer.expect("an answer");
    assert_eq!((answer.status, answer.headers.get("sim-signature"), &answer.body[..]), (404, Some("x"), &b"a\0b"[..]));
    let request = read.await.expect("a request").to_lowercase();
    assert!(request.starts_with("post /sim/payments/1?merchant_id=m http/1.1\r\n"), "{request}");
    for header in ["sim-signature: t=1,v1=ab\r\n", "content-length: 2\r\n"] {
        assert!(request.contains(header), "{request}");
    }
}

#[tokio::test]
async fn the_deadline_covers_an_answer_that_stops_half_way() {
    let (address, _read) = server(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()).await;
    let answer = HttpTransport::new().send(post(address), Duration::from_millis(100)).await;
    assert!(matches!(answer, Err(TransportError::Timeout(_))), "{answer:?}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_not_read_to_its_end() {
    let mut long = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    long.resize(long.len() + ANSWER_BYTES + 1, b'x');
    let (address, _read) = server(long).await;
    let answer = HttpTransport::new().send(post(address), LONG).await;
    assert!(matches!(answer, Err(TransportError::AnswerTooLong)), "{answer:?}");
}

#[tokio::test]
async fn no_connection_and_no_valid_request_are_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let refused = HttpTransport::new().send(post(format!("http://{address}")), LONG).await;
    assert!(matches!(refused, Err(TransportError::Connection(_))), "{refused:?}");
    let invalid = HttpTransport::new().send(post("http://a b".into()), LONG).await;
    assert!(matches!(invalid, Err(TransportError::InvalidRequest(_))), "{invalid:?}");
}
