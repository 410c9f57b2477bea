//! The packets of the connection phase, both directions.
//!
//! In: payload bytes, or what to say. Out: the other one. Pure.
//! Must never: trust a length that the peer gives.

use crate::common::secret::Password;
use crate::protocol::capability as cap;
use crate::protocol::error::PacketError;
use crate::protocol::wire::{self, Reader};

pub const CACHING_SHA2: &str = "caching_sha2_password";
pub const NATIVE: &str = "mysql_native_password";
pub const SHA256: &str = "sha256_password";
/// Connection-phase packets are small; more is not a MySQL client.
pub const MAX_PACKET: usize = 80 * 1024;
pub const NONCE: usize = 20;

/// A server's first packet (protocol 10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    pub version: String,
    pub thread_id: u32,
    pub nonce: [u8; NONCE],
    pub capabilities: u32,
    pub charset: u8,
    pub status: u16,
    pub plugin: String,
}

impl Greeting {
    pub fn encode(&self) -> Vec<u8> {
        let caps = self.capabilities.to_le_bytes();
        let mut out = vec![10];
        out.extend_from_slice(self.version.as_bytes());
        out.push(0);
        out.extend_from_slice(&self.thread_id.to_le_bytes());
        out.extend_from_slice(&self.nonce[..8]);
        out.push(0);
        out.extend_from_slice(&caps[..2]);
        out.push(self.charset);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&caps[2..]);
        out.push(NONCE as u8 + 1);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&self.nonce[8..]);
        out.push(0);
        out.extend_from_slice(self.plugin.as_bytes());
        out.push(0);
        out
    }

    pub fn parse(payload: &[u8]) -> Result<Self, PacketError> {
        let mut r = Reader::new(payload);
        if r.u8()? != 10 {
            return Err(PacketError::Malformed("not a MySQL greeting"));
        }
        let version = text(r.zero_terminated())?;
        let thread_id = r.u32()?;
        let mut nonce = [0; NONCE];
        nonce[..8].copy_from_slice(r.bytes(8)?);
        r.u8()?;
        let low = u32::from(r.u16()?);
        let charset = r.u8()?;
        let status = r.u16()?;
        let capabilities = low | u32::from(r.u16()?) << 16;
        r.bytes(11)?;
        nonce[8..].copy_from_slice(r.bytes(NONCE - 8)?);
        r.u8()?;
        let plugin = text(r.zero_terminated())?;
        Ok(Self {
            version,
            thread_id,
            nonce,
            capabilities,
            charset,
            status,
            plugin,
        })
    }
}

/// A client's answer to the greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub capabilities: u32,
    pub max_packet: u32,
    pub charset: u8,
    /// In the client's character set, as is the database.
    pub user: Vec<u8>,
    /// A proof, or with some plugins the password itself.
    pub auth: Password,
    pub database: Option<Vec<u8>>,
    pub plugin: Option<String>,
    /// What the client says about itself (program, version, …), as it was packed.
    pub attributes: Vec<u8>,
}

/// The 32 bytes that ask for TLS, or a whole login.
#[derive(Debug, PartialEq, Eq)]
pub enum FirstAnswer {
    Tls,
    Login(Login),
}

impl FirstAnswer {
    pub fn parse(payload: &[u8]) -> Result<Self, PacketError> {
        let mut r = Reader::new(payload);
        let capabilities = r.u32()?;
        if capabilities & cap::REQUIRED != cap::REQUIRED {
            return Err(PacketError::Malformed("client without protocol 4.1"));
        }
        let max_packet = r.u32()?;
        let charset = r.u8()?;
        r.bytes(23)?;
        if r.is_empty() && capabilities & cap::SSL != 0 {
            return Ok(Self::Tls);
        }
        let user = r.zero_terminated().to_vec();
        let auth = auth_data(&mut r, capabilities)?;
        let with = |flag: u32| capabilities & flag != 0;
        let database = if with(cap::CONNECT_WITH_DB) {
            r.zero_terminated().to_vec()
        } else {
            Vec::new()
        };
        let plugin = if with(cap::PLUGIN_AUTH) {
            Some(text(r.zero_terminated())?)
        } else {
            None
        };
        let attributes = if with(cap::CONNECT_ATTRS) {
            r.lenenc_bytes().unwrap_or_default().to_vec()
        } else {
            Vec::new()
        };
        Ok(Self::Login(Login {
            attributes,
            capabilities,
            max_packet,
            charset,
            user,
            auth,
            database: Some(database).filter(|d| !d.is_empty()),
            plugin,
        }))
    }
}

fn auth_data(r: &mut Reader<'_>, capabilities: u32) -> Result<Password, PacketError> {
    if capabilities & cap::PLUGIN_AUTH_LENENC != 0 {
        return Ok(r.lenenc_bytes()?.to_vec().into());
    }
    let length = usize::from(r.u8()?);
    Ok(r.bytes(length)?.to_vec().into())
}

fn text(bytes: &[u8]) -> Result<String, PacketError> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned)
        .map_err(|_| PacketError::Malformed("name is not UTF-8"))
}

/// What a client says before it starts TLS: how its login will begin.
pub fn tls_request(capabilities: u32, max_packet: u32, charset: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&max_packet.to_le_bytes());
    out.push(charset);
    out.extend_from_slice(&[0; 23]);
    out
}

impl Login {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = tls_request(self.capabilities, self.max_packet, self.charset);
        out.extend_from_slice(&self.user);
        out.push(0);
        wire::put_lenenc_bytes(&mut out, &self.auth);
        if let Some(database) = &self.database {
            out.extend_from_slice(database);
            out.push(0);
        }
        if let Some(plugin) = &self.plugin {
            out.extend_from_slice(plugin.as_bytes());
            out.push(0);
        }
        if self.capabilities & cap::CONNECT_ATTRS != 0 {
            wire::put_lenenc_bytes(&mut out, &self.attributes);
        }
        out
    }
}

/// COM_CHANGE_USER's content, after the command byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser {
    /// In this character set, else the session's, as is the database.
    pub user: Vec<u8>,
    pub database: Option<Vec<u8>>,
    /// A collation's number, which a login has one byte for.
    pub charset: Option<u16>,
    pub attributes: Option<Vec<u8>>,
}

impl ChangeUser {
    pub fn parse(payload: &[u8]) -> Result<Self, PacketError> {
        let mut r = Reader::new(payload);
        let user = r.zero_terminated().to_vec();
        let length = usize::from(r.u8()?);
        r.bytes(length)?;
        let database = Some(r.zero_terminated().to_vec()).filter(|d| !d.is_empty());
        let charset = r.u16().ok();
        r.zero_terminated();
        let attributes = r.lenenc_bytes().ok().map(<[u8]>::to_vec);
        Ok(Self {
            user,
            database,
            charset,
            attributes,
        })
    }
}

/// Asks the peer to go on with another plugin.
pub fn auth_switch(plugin: &str, nonce: &[u8; NONCE]) -> Vec<u8> {
    let mut out = vec![0xfe];
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out.extend_from_slice(nonce);
    out.push(0);
    out
}

pub fn parse_auth_switch(payload: &[u8]) -> Result<(String, [u8; NONCE]), PacketError> {
    let mut r = Reader::new(payload);
    r.u8()?;
    let plugin = text(r.zero_terminated())?;
    let mut nonce = [0; NONCE];
    let given = r.rest();
    let used = given.len().min(NONCE);
    nonce[..used].copy_from_slice(&given[..used]);
    Ok((plugin, nonce))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn greeting() -> Greeting {
        Greeting {
            version: "9.7.4".into(),
            thread_id: 77,
            nonce: *b"abcdefghijklmnopqrst",
            capabilities: cap::OFFERED,
            charset: 255,
            status: 2,
            plugin: CACHING_SHA2.into(),
        }
    }

    #[test]
    fn a_greeting_comes_back() {
        assert_eq!(Greeting::parse(&greeting().encode()).unwrap(), greeting());
    }

    #[test]
    fn a_request_for_tls_is_known_by_its_size() {
        let mut payload = vec![0; 32];
        payload[..4].copy_from_slice(&(cap::REQUIRED | cap::SSL).to_le_bytes());
        assert_eq!(FirstAnswer::parse(&payload).unwrap(), FirstAnswer::Tls);
    }

    #[test]
    fn the_request_for_tls_is_one() {
        let request = tls_request(cap::REQUIRED | cap::SSL, 1 << 24, 255);
        assert_eq!(FirstAnswer::parse(&request).unwrap(), FirstAnswer::Tls);
    }

    proptest! {
        #[test]
        fn a_login_comes_back(user in "[a-zé]{0,20}", auth: Vec<u8>, db in "[a-z]{1,9}", attributes: Vec<u8>) {
            let login = Login {
                capabilities: cap::REQUIRED | cap::PLUGIN_AUTH_LENENC | cap::PLUGIN_AUTH | cap::CONNECT_WITH_DB
                    | cap::CONNECT_ATTRS,
                max_packet: 1 << 24,
                charset: 45,
                user: user.into(),
                auth: auth.into(),
                database: Some(db.into()),
                plugin: Some(CACHING_SHA2.into()),
                attributes,
            };
            prop_assert_eq!(FirstAnswer::parse(&login.encode()).unwrap(), FirstAnswer::Login(login));
        }

        #[test]
        fn a_collation_above_255_is_not_cut(collation: u16) {
            let mut payload = b"app\0\0\0".to_vec();
            payload.extend_from_slice(&collation.to_le_bytes());
            prop_assert_eq!(ChangeUser::parse(&payload).unwrap().charset, Some(collation));
        }

        #[test]
        fn garbage_never_panics(garbage: Vec<u8>) {
            let _ = FirstAnswer::parse(&garbage);
            let _ = Greeting::parse(&garbage);
            let _ = ChangeUser::parse(&garbage);
            let _ = parse_auth_switch(&garbage);
        }
    }
}
