//! The gate's keys: TLS for clients that want it (and then towards servers too), RSA for those that send their password without TLS.
//!
//! In: certificate and key files, or nothing (then both are made at start). Out: a TLS acceptor, an RSA key.
//! Must never: write a key anywhere.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    PrivateDecryptingKey, PublicEncryptingKey,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime, pem::PemObject,
};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::{path::Path, sync::Arc};
use tokio_rustls::{TlsAcceptor, TlsConnector};

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("{0}: {1}")]
    File(String, rustls::pki_types::pem::Error),
    #[error("making a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("certificate and key: {0}")]
    Tls(#[from] rustls::Error),
    #[error("no RSA key of 2048 bits or more could be made or read")]
    Rsa,
}

/// The RSA key of the full exchange without TLS.
pub struct ExchangeKey {
    private: OaepPrivateDecryptingKey,
    pub public_pem: Arc<[u8]>,
}

impl ExchangeKey {
    /// Clients that pin a key need one that stays: from a file, PKCS#8 in PEM.
    pub fn read(file: &Path) -> Result<Self, KeyError> {
        let named = |error| KeyError::File(file.display().to_string(), error);
        let der = PrivatePkcs8KeyDer::from_pem_file(file).map_err(named)?;
        let key = PrivateDecryptingKey::from_pkcs8(der.secret_pkcs8_der());
        Self::of(key.map_err(|_| KeyError::Rsa)?)
    }

    pub fn generate() -> Result<Self, KeyError> {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048);
        Self::of(key.map_err(|_| KeyError::Rsa)?)
    }

    fn of(key: PrivateDecryptingKey) -> Result<Self, KeyError> {
        let der: PublicKeyX509Der<'_> = key.public_key().as_der().map_err(|_| KeyError::Rsa)?;
        let public_pem = pem(der.as_ref()).into();
        let private = OaepPrivateDecryptingKey::new(key).map_err(|_| KeyError::Rsa)?;
        Ok(Self {
            private,
            public_pem,
        })
    }

    pub fn decrypt(&self, bytes: &[u8]) -> Option<crate::common::secret::Password> {
        let mut out = zeroize::Zeroizing::new(vec![0; self.private.min_output_size()]);
        let length = self
            .private
            .decrypt(&OAEP_SHA1_MGF1SHA1, bytes, &mut out, None)
            .ok()?
            .len();
        out.truncate(length);
        Some(out)
    }
}

/// Encrypts towards a server that has sent its public key.
pub fn encrypt_for(public_pem: &[u8], clear: &[u8]) -> Option<Vec<u8>> {
    let der = rustls::pki_types::SubjectPublicKeyInfoDer::from_pem_slice(public_pem).ok()?;
    let key = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&der).ok()?).ok()?;
    let mut out = vec![0; key.ciphertext_size()];
    let length = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, clear, &mut out, None)
        .ok()?
        .len();
    out.truncate(length);
    Some(out)
}

fn pem(der: &[u8]) -> Vec<u8> {
    let mut out = b"-----BEGIN PUBLIC KEY-----\n".to_vec();
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.extend_from_slice(b"-----END PUBLIC KEY-----\n");
    out
}

/// A TLS acceptor from files, or with a certificate that the gate signs itself; and when the certificate expires, in seconds since 1970.
pub fn acceptor(files: Option<(&Path, &Path)>) -> Result<(TlsAcceptor, Option<i64>), KeyError> {
    let (chain, key) = match files {
        Some((certificate, key)) => from_files(certificate, key)?,
        None => self_signed()?,
    };
    let expires = chain.first().and_then(|first| expiry(first));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok((TlsAcceptor::from(Arc::new(config)), expires))
}

fn expiry(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

/// Towards servers: encrypted, the server's certificate not verified, as MySQL's own clients do it by default
/// (ssl-mode=PREFERRED). It is what accounts with REQUIRE SSL ask for.
pub fn connector() -> Result<TlsConnector, KeyError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(algorithms)))
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Whoever proves to have the key of the certificate that it shows.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn from_files(certificate: &Path, key: &Path) -> Result<Pair, KeyError> {
    let file = |path: &Path, error| KeyError::File(path.display().to_string(), error);
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|e| file(certificate, e))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|e| file(key, e))?;
    Ok((chain, key))
}

fn self_signed() -> Result<Pair, KeyError> {
    let made =
        rcgen::generate_simple_self_signed(vec!["gtid-gate".to_owned(), "localhost".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_encrypts_is_decrypted() {
        let key = ExchangeKey::generate().unwrap();
        let sent = encrypt_for(&key.public_pem, b"secret\0").unwrap();
        assert_eq!(key.decrypt(&sent).unwrap().as_slice(), b"secret\0");
        assert!(key.decrypt(b"garbage").is_none());
    }

    #[test]
    fn a_key_that_clients_pin_is_read_from_a_file_that_has_one() {
        let file = std::env::temp_dir().join(format!("gtid-gate-rsa-{}", std::process::id()));
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = key.as_der().unwrap();
        let text = String::from_utf8(pem(der.as_ref())).unwrap();
        std::fs::write(&file, text.replace("PUBLIC", "PRIVATE")).unwrap();
        let read = ExchangeKey::read(&file).unwrap();
        let own = ExchangeKey::of(key).unwrap();
        assert_eq!(read.public_pem, own.public_pem);
        std::fs::write(&file, "no key").unwrap();
        assert!(ExchangeKey::read(&file).is_err());
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn a_certificate_is_made_when_none_is_given() {
        let (_, expires) = acceptor(None).unwrap();
        assert!(expires.unwrap() > 1_800_000_000, "{expires:?}");
        let missing = Path::new("/nonexistent.pem");
        assert!(acceptor(Some((missing, missing))).is_err());
    }
}
