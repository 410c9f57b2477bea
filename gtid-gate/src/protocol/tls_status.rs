//! MySQL's status variables about the client's own connection: its TLS (`Ssl_cipher`, `Ssl_version` and the like), and the key under
//! which it sends its password.
//!
//! In: the client's TLS connection, or none; the gate's key. Out: the variables' values. Servers have those of the gate's connection to
//! them, and of their own key. Must never: touch a variable about the server (`Ssl_accepts`, `Ssl_ctx_…`).

use rustls::{CipherSuite, HandshakeKind, ProtocolVersion, ServerConnection};
use std::sync::Arc;

/// What clients compare or pin, as MySQL's two plugins call it.
const PUBLIC_KEYS: [&str; 2] = ["Caching_sha2_password_rsa_public_key", "Rsa_public_key"];

/// What the gate offers to clients (rustls' default), in its order.
const CIPHER_LIST: &str = "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:\
     ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:\
     ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305";

/// Of rustls' sessions, in seconds.
const SESSION_LIFETIME: &str = "86400";

pub struct OwnStatus {
    pub ssl: SslStatus,
    /// PEM.
    pub public_key: Arc<[u8]>,
}

impl OwnStatus {
    /// None if it is not about the connection.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        match PUBLIC_KEYS.contains(&name) {
            true => Some(&self.public_key),
            false => self.ssl.value(name).map(str::as_bytes),
        }
    }
}

/// Of one client's connection; the default is one without TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SslStatus(Option<Tls>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tls {
    cipher: &'static str,
    version: &'static str,
    resumed: bool,
}

impl SslStatus {
    /// After the handshake.
    pub fn of(connection: &ServerConnection) -> Self {
        let suite = connection.negotiated_cipher_suite();
        Self(Some(Tls {
            cipher: suite.map_or("", |s| openssl_name(s.suite())),
            version: connection.protocol_version().map_or("", mysql_name),
            resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        }))
    }

    /// None if it is not about the connection. Clients are asked for no certificate: nothing is verified.
    pub fn value(&self, name: &str) -> Option<&'static str> {
        let or_none = |value: fn(&Tls) -> &'static str, none| self.0.as_ref().map_or(none, value);
        Some(match name {
            "Ssl_cipher" => or_none(|t| t.cipher, ""),
            "Ssl_cipher_list" => or_none(|_| CIPHER_LIST, ""),
            "Ssl_default_timeout" => or_none(|_| SESSION_LIFETIME, "0"),
            "Ssl_sessions_reused" => or_none(|t| if t.resumed { "1" } else { "0" }, "0"),
            "Ssl_verify_depth" | "Ssl_verify_mode" => "0",
            "Ssl_version" => or_none(|t| t.version, ""),
            _ => return None,
        })
    }
}

fn mysql_name(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_2 => "TLSv1.2",
        ProtocolVersion::TLSv1_3 => "TLSv1.3",
        _ => "unknown",
    }
}

/// As OpenSSL calls the suites that rustls has.
fn openssl_name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => {
            "ECDHE-ECDSA-CHACHA20-POLY1305"
        }
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        _ => "unknown",
    }
}

#[cfg(test)]
impl OwnStatus {
    pub fn test(ssl: SslStatus) -> Self {
        let public_key = Arc::from(b"a key\n".as_slice());
        Self { ssl, public_key }
    }
}

#[cfg(test)]
impl SslStatus {
    pub const TEST: Self = Self(Some(Tls {
        cipher: "TLS_AES_256_GCM_SHA384",
        version: "TLSv1.3",
        resumed: false,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_that_clients_are_offered_has_its_name_in_openssl() {
        let suites = rustls::crypto::aws_lc_rs::default_provider().cipher_suites;
        let names: Vec<_> = suites.iter().map(|s| openssl_name(s.suite())).collect();
        assert_eq!(names.join(":"), CIPHER_LIST);
    }

    #[test]
    fn only_variables_about_the_connection_have_values() {
        let value = |ssl: SslStatus, name| {
            let own = OwnStatus::test(ssl);
            own.value(name)
                .map(|v| String::from_utf8(v.to_vec()).unwrap())
        };
        let told = |ssl, name| value(ssl, name).unwrap();
        assert_eq!(told(SslStatus::default(), "Ssl_cipher"), "");
        assert_eq!(told(SslStatus::default(), "Ssl_verify_mode"), "0");
        assert_eq!(
            told(SslStatus::TEST, "Ssl_cipher"),
            "TLS_AES_256_GCM_SHA384"
        );
        assert_eq!(told(SslStatus::TEST, "Ssl_version"), "TLSv1.3");
        for name in PUBLIC_KEYS {
            assert_eq!(told(SslStatus::default(), name), "a key\n");
        }
        for other in ["Ssl_accepts", "Ssl_ctx_verify_mode", "ssl_cipher", "Uptime"] {
            assert_eq!(value(SslStatus::TEST, other), None);
        }
    }
}
