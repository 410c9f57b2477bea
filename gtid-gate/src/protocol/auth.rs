//! What MySQL's password plugins compute.
//!
//! In: password and nonce. Out: proofs that can cross an open network. Must never: keep or log a password.

use super::handshake::NONCE;
use crate::common::secret::Password;
use aws_lc_rs::digest::{self, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

/// The password with a zero byte behind it. A buffer that grew would leave its old memory unzeroed.
pub fn zero_terminated(password: &[u8]) -> Password {
    let mut terminated = Password::new(Vec::with_capacity(password.len() + 1));
    terminated.extend_from_slice(password);
    terminated.push(0);
    terminated
}

/// SHA-256 of the parts, one after the other.
pub fn fingerprint(parts: &[&[u8]]) -> [u8; 32] {
    let mut fingerprint = [0; 32];
    fingerprint.copy_from_slice(&sha256(parts));
    fingerprint
}

fn sha256(parts: &[&[u8]]) -> Vec<u8> {
    hash(&SHA256, parts)
}

fn hash(algorithm: &'static digest::Algorithm, parts: &[&[u8]]) -> Vec<u8> {
    let mut context = digest::Context::new(algorithm);
    parts.iter().for_each(|part| context.update(part));
    context.finish().as_ref().to_vec()
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// caching_sha2_password: `SHA256(p) ^ SHA256(SHA256(SHA256(p)), nonce)`; empty for an empty password.
pub fn caching_sha2(password: &[u8], nonce: &[u8; NONCE]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha256(&[password]);
    let twice = sha256(&[&once]);
    xor(&once, &sha256(&[&twice, nonce]))
}

/// mysql_native_password: `SHA1(p) ^ SHA1(nonce, SHA1(SHA1(p)))`; empty for an empty password.
pub fn native(password: &[u8], nonce: &[u8; NONCE]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let sha1 = |parts: &[&[u8]]| hash(&SHA1_FOR_LEGACY_USE_ONLY, parts);
    let once = sha1(&[password]);
    let twice = sha1(&[&once]);
    xor(&once, &sha1(&[nonce, &twice]))
}

/// The password with its zero byte, mixed with the nonce: what RSA then encrypts. Its own inverse.
pub fn mix_with_nonce(bytes: &mut [u8], nonce: &[u8; NONCE]) {
    for (byte, salt) in bytes.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= salt;
    }
}

/// Fresh random bytes, none of them zero or `$`: clients read them as text.
pub fn nonce() -> Result<[u8; NONCE], aws_lc_rs::error::Unspecified> {
    let mut nonce = [0; NONCE];
    aws_lc_rs::rand::fill(&mut nonce)?;
    for byte in &mut nonce {
        *byte = match *byte & 0x7f {
            0 => 1,
            b'$' => b'%',
            other => other,
        };
    }
    Ok(nonce)
}

pub fn same(a: &[u8], b: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(a, b).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn scrambles_are_those_of_mysql() {
        let nonce = std::array::from_fn(|i| i as u8 + 1);
        assert_eq!(
            hex(&caching_sha2(b"secret", &nonce)),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
        assert_eq!(
            hex(&native(b"secret", &nonce)),
            "b32bb3a583e1340c0a1108d58b1be49781ad8c2f"
        );
    }

    #[test]
    fn a_terminated_password_is_written_to_memory_once() {
        let terminated = zero_terminated(b"secret");
        assert_eq!(terminated.as_slice(), b"secret\0");
        // A vector that had grown would have room for twice as much.
        assert_eq!(terminated.capacity(), b"secret".len() + 1);
    }

    #[test]
    fn an_empty_password_has_an_empty_proof() {
        assert!(caching_sha2(b"", &[1; NONCE]).is_empty());
        assert!(native(b"", &[1; NONCE]).is_empty());
    }

    #[test]
    fn mixing_twice_gives_the_password_back() {
        let nonce = nonce().unwrap();
        let mut bytes = b"a password that is longer than the nonce\0".to_vec();
        mix_with_nonce(&mut bytes, &nonce);
        mix_with_nonce(&mut bytes, &nonce);
        assert_eq!(bytes, b"a password that is longer than the nonce\0");
    }
}
