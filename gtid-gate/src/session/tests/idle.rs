//! A client that says nothing is shown out, over TLS as well.

use super::streams::*;
use super::unread::COM_PING;
use rustls::pki_types::ServerName;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn an_idle_client_over_tls_is_told_and_its_connection_ends() {
    let shared = shared(&[]);
    let (near, far) = duplex(PIPE);
    let mut session = new_session(&shared, near);
    let name = ServerName::try_from("gate").unwrap();
    let (encrypted, client) = tokio::join!(
        login::start_tls(&mut session.client, &shared),
        shared.tls_to_servers.connect(name, far)
    );
    assert!(encrypted.is_ok());
    let mut client = client.unwrap();
    let session = tokio::spawn(session.run());
    assert_eq!(read_packet(&mut client).await[0], 0, "the welcome");
    // Two commands: TLS has a record of its own for each, and reads ahead.
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_secs(28_000)).await;
        client.write_all(&packet(0, &[COM_PING])).await.unwrap();
        client.flush().await.unwrap();
        assert_eq!(read_packet(&mut client).await[0], 0);
    }
    let began = Instant::now();
    let said = read_packet(&mut client).await;
    assert_eq!(code(&said), 4031);
    assert_eq!(began.elapsed().as_secs(), 28_800, "wait_timeout");
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    session.await.unwrap();
}
