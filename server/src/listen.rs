//! Accepts connections, plain or over TLS, each with time-outs, so that silent clients cannot block the server.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// Time-out of a handshake, of the head of a request, and of an idle connection.
const HEAD: Duration = Duration::from_secs(30);
/// Time-out for a client that does not read an answer.
const DEAF: Duration = Duration::from_secs(60);
/// Maximum number of simultaneous connections; others wait.
const MOST: usize = 4_096;
/// Pause after the system has refused to open a connection.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum length of the head of a request, in bytes.
const LONGEST_HEAD: usize = 64 << 10;

/// Serves connections until `stop` completes; requests in progress are finished.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<Arc<ServerConfig>>,
    stop: impl Future<Output = ()>,
) {
    let acceptor = tls.map(TlsAcceptor::from);
    let places = Arc::new(Semaphore::new(MOST));
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            accepted = accepted => accepted,
        };
        let Ok((stream, from)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Small answers are sent at once; a failure here only makes them slower.
        let _ = stream.set_nodelay(true);
        let stream = heard(stream, DEAF);
        let (acceptor, router) = (acceptor.clone(), router.clone());
        let watcher = graceful.watcher();
        tokio::spawn(async move {
            let _place = place;
            match acceptor {
                None => connection(TokioIo::new(stream), from, router, watcher).await,
                Some(acceptor) => {
                    let shaken = tokio::time::timeout(HEAD, acceptor.accept(stream)).await;
                    // A client that does not use TLS could not read an answer.
                    let Ok(Ok(stream)) = shaken else { return };
                    connection(TokioIo::new(stream), from, router, watcher).await;
                }
            }
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

/// Wraps a connection so that it fails if its client reads nothing for that time.
fn heard(stream: TcpStream, deaf: Duration) -> Pin<Box<TimeoutStream<TcpStream>>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(deaf));
    Box::pin(stream)
}

/// Serves the requests of one connection.
async fn connection<I: Read + Write + Unpin + Send + 'static>(
    io: I,
    from: SocketAddr,
    router: Router,
    watcher: Watcher,
) {
    let service = TowerToHyperService::new(router.layer(Extension(ConnectInfo(from))));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD)
        // Oozie's client searches for its cookie under `Set-Cookie`, in exactly this case.
        .title_case_headers(true)
        .serve_connection(io, service);
    // The client has disconnected or does not speak HTTP; there is nothing left to report.
    let _ = watcher.watch(served).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).await.expect("it listens");
        let (stream, _) = listener.accept().await.expect("a client");
        let mut stream = heard(stream, Duration::from_millis(100));
        let sent = stream.write_all(&vec![b'x'; 64 << 20]).await;
        assert_eq!(sent.expect_err("nobody reads it").kind(), std::io::ErrorKind::TimedOut);
        drop(stream);
        let mut taken = Vec::new();
        // Buffered data still arrives, or the connection was reset.
        let _ = client.read_to_end(&mut taken).await;
        assert!(taken.len() < 64 << 20);
    }
}
