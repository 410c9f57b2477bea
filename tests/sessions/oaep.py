"""The password as caching_sha2_password wants it over a connection without TLS: encrypted with the server's RSA key.

In: a password, the nonce, the key as PEM. Out: bytes. Only for tests: the padding is right, nothing here resists an attacker.
"""

import base64
import hashlib
import os


def encrypted(password, nonce, pem):
    """OAEP with SHA-1 over the password, xor the nonce, as MySQL does it."""
    modulus, exponent = public_key(pem)
    size = (modulus.bit_length() + 7) // 8
    plain = bytes(x ^ nonce[i % len(nonce)] for i, x in enumerate(password + b"\0"))
    return pow(int.from_bytes(padded(plain, size), "big"), exponent, modulus).to_bytes(size, "big")


def padded(plain, size):
    block = hashlib.sha1(b"").digest() + bytes(size - len(plain) - 42) + b"\1" + plain
    seed = os.urandom(20)
    masked = xor(block, mask(seed, len(block)))
    return b"\0" + xor(seed, mask(masked, 20)) + masked


def xor(one, other):
    return bytes(x ^ y for x, y in zip(one, other))


def mask(seed, size):
    return b"".join(hashlib.sha1(seed + i.to_bytes(4, "big")).digest() for i in range(size // 20 + 1))[:size]


def public_key(pem):
    """(modulus, exponent) of a SubjectPublicKeyInfo: SEQUENCE(algorithm, BIT STRING(SEQUENCE(INTEGER, INTEGER)))."""
    der = base64.b64decode(b"".join(line for line in pem.split(b"\n") if not line.startswith(b"--")))
    whole, _ = element(der, 0)
    _, at = element(whole, 0)
    key, _ = element(element(whole, at)[0][1:], 0)
    modulus, at = element(key, 0)
    return int.from_bytes(modulus, "big"), int.from_bytes(element(key, at)[0], "big")


def element(der, at):
    """The content of the DER element at a position, and the position after it."""
    size, at = der[at + 1], at + 2
    if size & 0x80:
        count = size & 0x7F
        size, at = int.from_bytes(der[at : at + count], "big"), at + count
    return der[at : at + size], at + size
