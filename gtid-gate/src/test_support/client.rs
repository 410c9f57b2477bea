//! A client that logs in as MySQL's do, and says what it heard instead of what it expected.

use super::{FLAGS, expects, login, play, sends};
use crate::clients::shared::Shared;
use crate::net::tls::encrypt_for;
use crate::protocol::handshake::NONCE;
use crate::protocol::{auth, capability as cap};
use std::io;
use tokio::io::{AsyncReadExt, DuplexStream};

/// Bytes of the gate's greeting.
pub const GREETING: usize = 77;

/// A client's end. What the gate says has to be what is expected.
pub struct Peer {
    pub stream: DuplexStream,
    /// Its connection's, as the gate said.
    pub id: u32,
    pub nonce: [u8; NONCE],
}

impl Peer {
    /// Reads the greeting: protocol, version, id, the nonce's halves, flags, utf8mb4, autocommit, plugin.
    pub async fn greeted(mut stream: DuplexStream) -> io::Result<Self> {
        let mut bytes = [0; GREETING];
        stream.read_exact(&mut bytes).await?;
        assert_eq!(bytes[..11], *b"\x49\0\0\0\x0a8.4.0\0");
        let id = u32::from_le_bytes([bytes[11], bytes[12], bytes[13], bytes[14]]);
        let flags = cap::offered(u32::MAX).to_le_bytes();
        assert_eq!(bytes[23..26], [0, flags[0], flags[1]]);
        assert_eq!(bytes[26..32], [255, 2, 0, flags[2], flags[3], 21]);
        assert_eq!(bytes[54..], *b"\0caching_sha2_password\0");
        let mut nonce = [0; NONCE];
        nonce[..8].copy_from_slice(&bytes[15..23]);
        nonce[8..].copy_from_slice(&bytes[42..54]);
        Ok(Self { stream, id, nonce })
    }

    pub async fn says(&mut self, seq: u8, payload: &[u8]) -> io::Result<()> {
        play(&[sends(seq, payload)], &mut self.stream).await
    }

    pub async fn hears(&mut self, seq: u8, payload: &[u8]) -> io::Result<()> {
        play(&[expects(seq, payload)], &mut self.stream).await
    }

    pub fn proof(&self, password: &[u8]) -> Vec<u8> {
        auth::caching_sha2(password, &self.nonce)
    }

    pub async fn proves(&mut self, password: &[u8]) -> io::Result<()> {
        let proof = self.proof(password);
        self.says(1, &login(FLAGS, &proof, b"caching_sha2_password\0"))
            .await
    }

    /// The full exchange under the gate's key.
    pub async fn hands_over(&mut self, password: &[u8], shared: &Shared) -> io::Result<()> {
        let key = &shared.exchange_key.public_pem;
        self.hears(2, &[1, 4]).await?;
        self.says(3, &[2]).await?;
        self.hears(4, &[&[1], &key[..]].concat()).await?;
        let mut clear = [password, b"\0"].concat();
        auth::mix_with_nonce(&mut clear, &self.nonce);
        self.says(5, &encrypt_for(key, &clear).unwrap()).await
    }
}
