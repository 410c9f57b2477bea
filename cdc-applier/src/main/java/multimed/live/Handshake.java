package multimed.live;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * How both ends begin: each proves that it knows the password of the log's readers, without showing it, and the reader says what it has.
 * Must never: give a record to one who does not know the password, or take one.
 *
 * <pre>
 * server: version 1, nonce 32
 * reader: nonce 32, HMAC-SHA256(password, "reader" server's nonce, reader's nonce) 32
 * server: HMAC-SHA256(password, "server" server's nonce, reader's nonce) 32
 * reader: newest GTID that it has, or LiveServer's word for a turn (length 2, text)
 * server: what LiveServer sends
 * </pre>
 */
final class Handshake {
    static final int VERSION = 1;
    private static final int NONCE = 32;
    private static final SecureRandom RANDOM = new SecureRandom();

    private Handshake() {}

    /** The server's side; returns what the reader has, or asks for. */
    static String admit(DataInputStream in, DataOutputStream out, String password) throws IOException {
        byte[] own = nonce();
        out.writeByte(VERSION);
        out.write(own);
        out.flush();
        byte[] other = in.readNBytes(NONCE);
        byte[] proof = in.readNBytes(NONCE);
        if (!MessageDigest.isEqual(proof, proof(password, "reader", own, other))) {
            throw new IOException("wrong password");
        }
        out.write(proof(password, "server", own, other));
        out.flush();
        return in.readUTF();
    }

    /** The reader's side. */
    static void enter(DataInputStream in, DataOutputStream out, String password, String wish) throws IOException {
        int version = in.readUnsignedByte();
        if (version != VERSION) {
            throw new IOException("version " + version + " instead of " + VERSION);
        }
        byte[] other = in.readNBytes(NONCE);
        byte[] own = nonce();
        out.write(own);
        out.write(proof(password, "reader", other, own));
        out.flush();
        if (!MessageDigest.isEqual(in.readNBytes(NONCE), proof(password, "server", other, own))) {
            throw new IOException("refused: capture has another password of the log's readers");
        }
        out.writeUTF(wish);
        out.flush();
    }

    private static byte[] nonce() {
        byte[] nonce = new byte[NONCE];
        RANDOM.nextBytes(nonce);
        return nonce;
    }

    /** Where the log asks for no account, there is no password to know. */
    private static byte[] proof(String password, String who, byte[] server, byte[] reader) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            String key = password == null ? "no password" : password;
            mac.init(new SecretKeySpec(key.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            mac.update(who.getBytes(StandardCharsets.UTF_8));
            mac.update(server);
            return mac.doFinal(reader);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
