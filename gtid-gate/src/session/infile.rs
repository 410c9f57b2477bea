//! LOAD DATA LOCAL: the client's file passes to the server.

use super::work::{SendError, pass_packet};
use crate::protocol::codec::Conn;

/// Both sides count sequence ids on from the server's request, which the client has just been sent.
pub async fn pass_file(client: &mut Conn, server: &mut Conn, seq: u8) -> Result<(), SendError> {
    client.seq = seq;
    server.seq = seq;
    while !client.is_file_done() {
        let size = client.header().await.map_err(SendError::Client)?;
        pass_packet(client, server, size).await?;
    }
    Ok(())
}
