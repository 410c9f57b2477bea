package multimed.mysql;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.spec.X509EncodedKeySpec;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Base64;
import javax.crypto.Cipher;

/**
 * The client's part of the handshake with caching_sha2_password without TLS: the fast path, and the full one with the server's
 * RSA key (protocol pages "Protocol::HandshakeV10", "Caching_sha2_password information"). Pure: payloads in, payloads out.
 * Must never: send the password over a network other than scrambled or encrypted, or show it in an error.
 */
final class Login {
    private static final String PLUGIN = "caching_sha2_password";
    private static final int NONCE = 20;
    /**
     * PROTOCOL_41, FOUND_ROWS, LONG_FLAG, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS, MULTI_RESULTS, PLUGIN_AUTH,
     * CONNECT_ATTRS, DEPRECATE_EOF.
     */
    private static final int CAPABILITIES = 0x200 | 0x2 | 0x4 | 0x2000 | 0x8000 | 0x10000 | 0x20000 | 0x80000 | 0x100000 | 0x1000000;
    private static final int UTF8MB4_0900_AI_CI = 255;
    private static final int MORE_DATA = 0x01;
    private static final int FAST_DONE = 0x03;
    private static final int FULL_WANTED = 0x04;
    private static final byte KEY_PLEASE = 0x02;

    private final String user;
    private final byte[] password;
    /** The server sees the password on no network: over a Unix socket it asks for it as it is. */
    private final boolean local;
    private byte[] nonce;
    private long connectionId;
    private boolean done;

    Login(String user, String password) {
        this(user, password, false);
    }

    private Login(String user, String password, boolean local) {
        this.user = user;
        this.password = password.getBytes(StandardCharsets.UTF_8);
        this.local = local;
    }

    /** Over a Unix socket. */
    static Login local(String user, String password) {
        return new Login(user, password, true);
    }

    boolean done() {
        return done;
    }

    long connectionId() {
        return connectionId;
    }

    /** The answer to the server's first packet. */
    byte[] greet(byte[] payload) throws SQLException {
        Bytes in = new Bytes(payload);
        int version = in.u8();
        if (version == Reply.ERR) {
            throw Reply.error(in);
        }
        if (version != 10) {
            throw new SQLException("protocol version " + version, "08S01");
        }
        in.untilZero();
        connectionId = in.unsigned(4);
        byte[] first = in.take(8);
        in.take(1 + 2 + 1 + 2 + 2);
        int length = in.u8();
        in.take(10);
        nonce(first, in.take(Math.max(13, length - 8)));
        return response();
    }

    private void nonce(byte[] first, byte[] second) {
        nonce = Arrays.copyOf(first, NONCE);
        System.arraycopy(second, 0, nonce, first.length, NONCE - first.length);
    }

    private byte[] response() throws SQLException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        number(out, CAPABILITIES, 4);
        number(out, 1 << 30, 4);
        number(out, UTF8MB4_0900_AI_CI, 1);
        out.writeBytes(new byte[23]);
        zeroEnded(out, user);
        byte[] scramble = scramble();
        out.write(scramble.length);
        out.writeBytes(scramble);
        zeroEnded(out, PLUGIN);
        ByteArrayOutputStream attributes = new ByteArrayOutputStream();
        counted(attributes, "program_name");
        counted(attributes, "multimed-applier");
        out.write(attributes.size());
        out.writeBytes(attributes.toByteArray());
        return out.toByteArray();
    }

    private static void number(ByteArrayOutputStream out, int value, int bytes) {
        for (int i = 0; i < bytes; i++) {
            out.write(value >>> 8 * i);
        }
    }

    private static void zeroEnded(ByteArrayOutputStream out, String text) {
        out.writeBytes(text.getBytes(StandardCharsets.UTF_8));
        out.write(0);
    }

    private static void counted(ByteArrayOutputStream out, String text) {
        out.write(text.length());
        out.writeBytes(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The answer to any later packet; null if none is due. */
    byte[] answer(byte[] payload) throws SQLException {
        Bytes in = new Bytes(payload);
        int kind = in.u8();
        switch (kind) {
            case Reply.OK:
                done = true;
                return null;
            case Reply.ERR:
                throw Reply.error(in);
            case Reply.EOF:
                return changed(in);
            case MORE_DATA:
                return more(in);
            default:
                throw new SQLException("a login answered with " + kind, "08S01");
        }
    }

    private byte[] changed(Bytes in) throws SQLException {
        String plugin = in.untilZero();
        if (!plugin.equals(PLUGIN)) {
            throw new SQLException("the account is not of " + PLUGIN + " but of " + plugin, "28000");
        }
        nonce = in.take(NONCE);
        return scramble();
    }

    private byte[] more(Bytes in) throws SQLException {
        byte[] data = in.rest();
        if (data.length == 1 && data[0] == FAST_DONE) {
            return null;
        }
        if (data.length == 1 && data[0] == FULL_WANTED) {
            return local ? Arrays.copyOf(password, password.length + 1) : new byte[] {KEY_PLEASE};
        }
        return encrypted(new String(data, StandardCharsets.US_ASCII));
    }

    private byte[] scramble() throws SQLException {
        if (password.length == 0) {
            return new byte[0];
        }
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            byte[] once = sha.digest(password);
            sha.update(sha.digest(once));
            sha.update(nonce);
            return xor(once, sha.digest());
        } catch (GeneralSecurityException e) {
            throw new SQLException("SHA-256 is missing", "08S01", e);
        }
    }

    private byte[] encrypted(String pem) throws SQLException {
        try {
            byte[] der = Base64.getMimeDecoder().decode(pem.replaceAll("-----[A-Z ]+-----", ""));
            Cipher cipher = Cipher.getInstance("RSA/ECB/OAEPWithSHA-1AndMGF1Padding");
            cipher.init(Cipher.ENCRYPT_MODE, KeyFactory.getInstance("RSA").generatePublic(new X509EncodedKeySpec(der)));
            return cipher.doFinal(xor(Arrays.copyOf(password, password.length + 1), nonce));
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw new SQLException("the server's public key is unusable", "08S01", e);
        }
    }

    private static byte[] xor(byte[] data, byte[] pad) {
        byte[] out = new byte[data.length];
        for (int i = 0; i < data.length; i++) {
            out[i] = (byte) (data[i] ^ pad[i % pad.length]);
        }
        return out;
    }
}
