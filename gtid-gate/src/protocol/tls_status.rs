//! What MySQL's status variables tell a client about the TLS of its own connection: `Ssl_cipher`, `Ssl_version` and the like.
//!
//! In: the client's TLS connection, or none. Out: the variables' values, and an SQL expression for them. Servers would tell
//! of the gate's connection to them. Must never: touch a variable about the server (`Ssl_accepts`, `Ssl_ctx_…`).

use rustls::{CipherSuite, HandshakeKind, ProtocolVersion, ServerConnection};
use std::fmt::Write;

/// The variables about a connection, spelled as MySQL shows them.
const NAMES: [&str; 7] = [
    "Ssl_cipher",
    "Ssl_cipher_list",
    "Ssl_default_timeout",
    "Ssl_sessions_reused",
    "Ssl_verify_depth",
    "Ssl_verify_mode",
    "Ssl_version",
];

/// What the gate offers to clients (rustls' default), in its order.
const CIPHER_LIST: &str = "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:\
     ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:\
     ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305";

/// Of rustls' sessions, in seconds.
const SESSION_LIFETIME: &str = "86400";

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

    /// The value of the variable whose name is in one column, else what is in the other.
    pub fn expression(&self, name: &str, value: &str) -> String {
        let mut sql = format!("CASE {name}");
        for (variable, own) in NAMES.iter().filter_map(|n| Some((n, self.value(n)?))) {
            let _ = write!(sql, " WHEN '{variable}' THEN '{own}'");
        }
        let _ = write!(sql, " ELSE {value} END");
        sql
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
        let all = |status: SslStatus| NAMES.map(|name| status.value(name).unwrap());
        assert_eq!(all(SslStatus::default()), ["", "", "0", "0", "0", "0", ""]);
        let tls = all(SslStatus::TEST);
        assert_eq!((tls[0], tls[6]), ("TLS_AES_256_GCM_SHA384", "TLSv1.3"));
        for other in ["Ssl_accepts", "Ssl_ctx_verify_mode", "ssl_cipher", "Uptime"] {
            assert_eq!(SslStatus::TEST.value(other), None);
        }
    }
}
