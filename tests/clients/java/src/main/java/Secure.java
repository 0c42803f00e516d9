import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;

/** pgjdbc with SCRAM over TLS: run.sh has started a server that lets nobody else in. */
public final class Secure {
    interface Case {
        void run() throws Exception;
    }

    static Connection connect(String password, String more) throws SQLException {
        String url = "jdbc:postgresql://localhost:" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE")
                + "?connectTimeout=20&socketTimeout=40" + more;
        return DriverManager.getConnection(url, "ann", password);
    }

    static void refused(String password, String more, String state) throws SQLException {
        try (Connection c = connect(password, more)) {
            throw new AssertionError("let in");
        } catch (SQLException error) {
            Cases.same(error.getSQLState(), state);
        }
    }

    public static void main(String[] args) {
        String tls = "&sslmode=verify-full&sslrootcert=" + System.getenv("PGSSLROOTCERT");
        String secret = System.getenv("SECRET");
        Map<String, Case> cases = new LinkedHashMap<>();
        cases.put("scram_over_tls", () -> {
            try (Connection c = connect(secret, tls);
                    Statement s = c.createStatement();
                    ResultSet r = s.executeQuery("select current_user")) {
                r.next();
                Cases.same(r.getString(1), "ann");
            }
        });
        cases.put("a_wrong_password_is_refused", () -> refused("wrong", tls, "28P01"));
        cases.put("without_tls_nobody_comes_in", () -> refused(secret, "&sslmode=disable", "28000"));
        for (Map.Entry<String, Case> entry : cases.entrySet()) {
            try {
                entry.getValue().run();
                System.out.println("pass jdbc-secure " + entry.getKey());
            } catch (Throwable error) {
                String text = String.valueOf(error.getMessage()).replaceAll("\\s+", " ");
                System.out.println("fail jdbc-secure " + entry.getKey() + " " + text);
            }
        }
        System.exit(0);
    }
}
