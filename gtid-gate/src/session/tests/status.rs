//! What a client is told about its own TLS.

use super::streams::*;
use crate::backend::COM_QUERY;
use crate::protocol::tls_status::SslStatus;
use crate::session::execution::COM_STMT_PREPARE;
use tokio::io::{AsyncWriteExt, DuplexStream};

const CIPHER: &str = "TLS_AES_256_GCM_SHA384";
const COM_STMT_EXECUTE: &[u8] = &[0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

fn strings(head: &[u8], strings: &[&str]) -> Vec<u8> {
    let mut out = head.to_vec();
    for string in strings {
        wire::put_lenenc_bytes(&mut out, string.as_bytes());
    }
    out
}

/// A session of a client with TLS, and the master's end of its connection.
fn with_tls(shared: &Arc<Shared>) -> (Running, DuplexStream) {
    let mut far = None;
    let running = run(shared, PIPE, |session| {
        session.client.ssl = SslStatus::TEST;
        far = Some(master(shared, session, PIPE));
    });
    (running, far.unwrap())
}

/// What the master, whose connection has no TLS, tells of Ssl_cipher.
async fn tell(far: &mut DuplexStream, head: &[u8]) {
    let definition = |name| strings(&[], &["def", "", "session_status", "", name, ""]);
    let packets = [
        vec![2],
        definition("Variable_name"),
        definition("Value"),
        strings(head, &["Ssl_cipher", ""]),
        END.to_vec(),
    ];
    for (at, payload) in packets.iter().enumerate() {
        far.write_all(&packet(at as u8 + 1, payload)).await.unwrap();
    }
}

/// The row that the client gets.
async fn told(running: &mut Running) -> Vec<u8> {
    for _ in 0..3 {
        running.answer().await;
    }
    let row = running.answer().await;
    assert_eq!(running.answer().await, END);
    row
}

#[tokio::test]
async fn a_client_with_tls_is_told_its_own_cipher_and_not_the_gates() {
    let shared = shared(&[]);
    let (mut running, mut far) = with_tls(&shared);
    running.answer().await;
    let ask = [&[COM_QUERY], &b"SHOW STATUS LIKE 'Ssl_cipher'"[..]].concat();
    running.send(&packet(0, &ask)).await;
    assert_eq!(read_packet(&mut far).await, ask);
    tell(&mut far, &[]).await;
    assert_eq!(
        told(&mut running).await,
        strings(&[], &["Ssl_cipher", CIPHER])
    );
}

#[tokio::test]
async fn a_prepared_show_status_tells_the_clients_own_cipher() {
    let shared = shared(&[]);
    let (mut running, mut far) = with_tls(&shared);
    running.answer().await;
    let prepare = [&[COM_STMT_PREPARE], &b"SHOW STATUS LIKE 'Ssl_cipher'"[..]].concat();
    running.send(&packet(0, &prepare)).await;
    assert_eq!(read_packet(&mut far).await, prepare);
    let prepared = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    far.write_all(&packet(1, &prepared)).await.unwrap();
    assert_eq!(running.answer().await[0], 0);
    running.send(&packet(0, COM_STMT_EXECUTE)).await;
    read_packet(&mut far).await;
    tell(&mut far, &[0, 0]).await;
    assert_eq!(
        told(&mut running).await,
        strings(&[0, 0], &["Ssl_cipher", CIPHER])
    );
}
