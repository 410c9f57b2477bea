package multimed.master;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import multimed.process.Address;

/** The master's address and the account that this process has there. Must never: print the password. */
public record MasterAccess(Address address, String user, String password) {
    private static final int ANSWER_MS = 30_000;

    /** A connection for questions. */
    public Connection connect() throws SQLException {
        return connect(address.toString(), ANSWER_MS);
    }

    /**
     * The same account on another server: satellites are clones of the master.
     *
     * @param answerMs how long the server may take for an answer
     */
    public Connection connect(String server, int answerMs) throws SQLException {
        String url = "jdbc:mysql://" + server + "/?sslMode=DISABLED&allowPublicKeyRetrieval=true&connectTimeout=5000&socketTimeout="
                + answerMs
                + "&characterEncoding=UTF-8&connectionTimeZone=UTC";
        return DriverManager.getConnection(url, user, password);
    }

    /** Never the password. */
    @Override
    public String toString() {
        return address.toString();
    }
}
