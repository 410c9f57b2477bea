//! The listener of the HTTP side: accepts, bounds what callers may hold, and rejects requests for other hosts' names.
//!
//! In: a listening socket and the routes. Out: responses.
//! Must never: let callers who send or read slowly, or hold connections, keep others out or take the descriptors of MySQL clients;
//! answer a web page that has had a name of its own point here (DNS rebinding).

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};
use socket2::SockRef;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// For the headers of a request, also of the next one on an idle connection (Prometheus comes every 15 s).
const HEADERS_WITHIN: Duration = Duration::from_secs(30);
/// From the headers to the answer; what a change waits for takes milliseconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// A caller that reads nothing for so long is gone.
const READ_WITHIN: Duration = Duration::from_secs(30);
const MOST_BYTES_OF_HEADERS: usize = 64 << 10;
const MOST_CONNECTIONS: usize = 100;
/// Of all descriptors, HTTP connections get one in so many at most.
const SHARE_OF_DESCRIPTORS: u64 = 8;

/// Serves until the gate ends. `names`: hosts' names besides localhost under which callers know this address.
pub async fn serve(listener: TcpListener, routes: Router, names: &[String]) -> std::io::Result<()> {
    let routes = guarded(routes, names);
    let mut open = Connections::new();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let progress = Progress::new();
                let routes = routes.clone().layer(Extension(progress.clone()));
                let served = tokio::spawn(async move {
                    match limited(&stream) {
                        Ok(()) => serve_one(stream, peer, routes).await,
                        Err(error) => tracing::debug!(%error, "HTTP caller gone at once"),
                    }
                });
                open.add(progress, served);
            }
            Err(error) => {
                tracing::debug!(%error, "HTTP connection not accepted");
                open.close_slowest();
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

pub(super) fn complaint(status: StatusCode, text: &str) -> Response {
    answer(status, &json!({ "error": text }))
}

pub(super) fn answer(status: StatusCode, value: &Value) -> Response {
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

fn limited(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_user_timeout(Some(READ_WITHIN))
}

async fn serve_one<S>(stream: S, peer: SocketAddr, routes: Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let routes = TowerToHyperService::new(routes.layer(Extension(ConnectInfo(peer))));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(MOST_BYTES_OF_HEADERS)
        .serve_connection(TokioIo::new(stream), routes);
    if let Err(error) = served.await {
        tracing::debug!(%error, "HTTP connection ended");
    }
}

fn guarded(routes: Router, names: &[String]) -> Router {
    let names: Arc<[String]> = names.into();
    routes
        .layer(from_fn(in_time))
        .layer(from_fn_with_state(names, for_this_host))
}

async fn in_time(request: Request, next: Next) -> Response {
    if let Some(progress) = request.extensions().get::<Progress>() {
        progress.made();
    }
    timeout(ANSWER_WITHIN, next.run(request))
        .await
        .unwrap_or_else(|_| {
            let mut answer = complaint(StatusCode::REQUEST_TIMEOUT, "the request took too long");
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(header::CONNECTION, close);
            answer
        })
}

async fn for_this_host(
    State(names): State<Arc<[String]>>,
    request: Request,
    next: Next,
) -> Response {
    match is_for_this_host(request.headers(), &names) {
        true => next.run(request).await,
        false => complaint(
            StatusCode::FORBIDDEN,
            "the header Host has a name that GATE_HTTP_HOSTS does not list",
        ),
    }
}

/// An address can't be made to point elsewhere, a name can. Programs may send no Host (HTTP/1.0); browsers always send it.
fn is_for_this_host(headers: &HeaderMap, names: &[String]) -> bool {
    let given = headers.get_all(header::HOST);
    given.iter().all(|host| {
        let host = host.to_str().ok().map(name_of);
        host.is_some_and(|host| {
            host.eq_ignore_ascii_case("localhost")
                || host.parse::<IpAddr>().is_ok()
                || names.iter().any(|name| name.eq_ignore_ascii_case(host))
        })
    })
}

/// Without the port, the brackets of an IPv6 address, and the dot that may end a name.
fn name_of(host: &str) -> &str {
    if let Some((address, rest)) = host.strip_prefix('[').and_then(|h| h.split_once(']')) {
        return match rest.is_empty() || rest.starts_with(':') {
            true => address,
            false => host,
        };
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.strip_suffix('.').unwrap_or(name)
}

/// When a connection last had a request, or its caller had read enough to be sent more.
#[derive(Clone)]
pub(super) struct Progress(Arc<Mutex<Instant>>);

impl Progress {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub(super) fn made(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Open connections. Beyond the most, the one that made no progress for longest makes room: the status page connects again by itself.
struct Connections {
    open: Vec<(Progress, JoinHandle<()>)>,
    most: usize,
}

impl Connections {
    fn new() -> Self {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let share = usize::try_from(descriptors / SHARE_OF_DESCRIPTORS).unwrap_or(usize::MAX);
        Self {
            open: Vec::new(),
            most: share.clamp(4, MOST_CONNECTIONS),
        }
    }

    fn add(&mut self, progress: Progress, served: JoinHandle<()>) {
        self.open.retain(|(_, served)| !served.is_finished());
        if self.open.len() >= self.most {
            self.close_slowest();
        }
        self.open.push((progress, served));
    }

    fn close_slowest(&mut self) {
        let all = self.open.iter().enumerate();
        let slowest = all.min_by_key(|(_, (progress, _))| progress.last());
        if let Some((place, _)) = slowest {
            self.open.remove(place).1.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Bytes;
    use axum::routing::{get, post};
    use std::io;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    fn routes() -> Router {
        let routes = Router::new()
            .route("/", get(|| async { "here" }))
            .route("/body", post(|body: Bytes| async move { body }));
        guarded(routes, &["gate".to_owned()])
    }

    fn caller() -> DuplexStream {
        let (here, there) = duplex(1 << 20);
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::spawn(serve_one(there, peer, routes()));
        here
    }

    async fn told(caller: &mut DuplexStream, request: &str) -> String {
        caller.write_all(request.as_bytes()).await.unwrap();
        rest(caller).await.unwrap()
    }

    async fn rest(caller: &mut DuplexStream) -> io::Result<String> {
        let mut answer = String::new();
        caller.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_headers_or_a_body_slowly_does_not_keep_the_connection() {
        let mut silent = caller();
        assert_eq!(rest(&mut silent).await.unwrap(), "");
        let mut slow = caller();
        told(&mut slow, "GET / HTTP/1.1\r\nHost: loc").await;
        let mut unfinished = caller();
        let request = "POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf";
        let told = told(&mut unfinished, request).await;
        assert!(told.starts_with("HTTP/1.1 408"), "{told}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_takes_another_request_and_ends_in_time() {
        let mut idle = caller();
        let request = "GET / HTTP/1.1\r\nHost: gate:8080\r\n\r\n";
        idle.write_all(request.as_bytes()).await.unwrap();
        sleep(Duration::from_secs(15)).await;
        let told = told(&mut idle, request).await;
        assert_eq!(told.matches("here").count(), 2, "{told}");
    }

    #[test]
    fn a_name_that_somebody_else_had_point_here_reads_nothing() {
        let is_allowed = |hosts: &[&str]| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, host.parse().unwrap());
            }
            is_for_this_host(&headers, &["gate".to_owned()])
        };
        let allowed = [
            "localhost",
            "LOCALHOST:18080",
            "localhost.",
            "127.0.0.1:8080",
            "10.1.2.3",
            "[::1]:8080",
            "[fd00::2]",
            "Gate:8080",
        ];
        assert!(allowed.iter().all(|host| is_allowed(&[host])));
        assert!(is_allowed(&[]));
        let others = [
            "",
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8080",
            "gate.evil.example",
            "[::1].evil.example",
            "1",
            "gate@evil",
        ];
        let others = others.iter().filter(|host| is_allowed(&[host]));
        assert_eq!(others.collect::<Vec<_>>(), [&""; 0]);
        assert!(!is_allowed(&["localhost", "evil.example"]));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_viewers_do_not_keep_others_out_the_slowest_makes_room() {
        let mut connections = Connections::new();
        connections.most = 3;
        let waiting = || tokio::spawn(std::future::pending());
        let progress = [0; 4].map(|_| Progress::new());
        for each in &progress[..3] {
            connections.add(each.clone(), waiting());
        }
        sleep(Duration::from_secs(1)).await;
        progress[0].made();
        progress[2].made();
        let slowest = connections.open[1].1.abort_handle();
        connections.add(progress[3].clone(), waiting());
        assert_eq!(connections.open.len(), 3);
        while !slowest.is_finished() {
            tokio::task::yield_now().await;
        }
        assert!(connections.open.iter().all(|(_, task)| !task.is_finished()));
    }
}
