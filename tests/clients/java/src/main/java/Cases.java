import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;

/** pgjdbc: server-side prepare, batches, fetch size, COPY, metadata. */
public final class Cases {
    interface Case {
        void run(Connection c) throws Exception;
    }

    static final Map<String, Case> CASES = new LinkedHashMap<>();

    static void same(Object found, Object expected) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError(found + " instead of " + expected);
        }
    }

    static void run(Connection c, String... statements) throws SQLException {
        try (Statement s = c.createStatement()) {
            for (String sql : statements) {
                s.execute(sql);
            }
        }
    }

    static Object one(Connection c, String sql, Object... values) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                s.setObject(i + 1, values[i]);
            }
            try (ResultSet r = s.executeQuery()) {
                r.next();
                return r.getObject(1);
            }
        }
    }

    static {
        CASES.put("select_one", c -> same(one(c, "select 1"), 1));
        CASES.put("notifications", c -> {
            run(c, "listen jdbc_news", "notify jdbc_news, 'said'");
            var heard = c.unwrap(PGConnection.class).getNotifications(20_000);
            same(heard.length, 1);
            same(heard[0].getName() + " " + heard[0].getParameter(), "jdbc_news said");
        });
        CASES.put("parameters", c -> {
            same(one(c, "select ?::int", 42), 42);
            same(one(c, "select ?::text", "é'"), "é'");
            same(one(c, "select ?::numeric", new BigDecimal("1.50")), new BigDecimal("1.50"));
            same(one(c, "select ?::bool", true), true);
            same(one(c, "select ?::float8", 1.5), 1.5);
            same(one(c, "select ?::int8", (Object) null), null);
        });
        CASES.put("times", c -> {
            OffsetDateTime when = OffsetDateTime.parse("2024-01-02T03:04:05.000006Z");
            try (PreparedStatement s = c.prepareStatement("select ?::timestamptz")) {
                s.setObject(1, when);
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    same(r.getObject(1, OffsetDateTime.class).toInstant(), when.toInstant());
                }
            }
        });
        CASES.put("arrays", c -> {
            java.sql.Array given = c.createArrayOf("int4", new Integer[] {1, 2, null});
            try (PreparedStatement s = c.prepareStatement("select ?::int4[]")) {
                s.setArray(1, given);
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    same(Arrays.asList((Object[]) r.getArray(1).getArray()), Arrays.asList(1, 2, null));
                }
            }
        });
        CASES.put("a_statement_is_prepared_on_the_server", c -> {
            try (PreparedStatement s = c.prepareStatement("select ?::int + 1")) {
                for (int n = 0; n < 20; n++) {
                    s.setInt(1, n);
                    try (ResultSet r = s.executeQuery()) {
                        r.next();
                        same(r.getInt(1), n + 1);
                    }
                }
            }
        });
        CASES.put("batches", c -> {
            run(c, "create table jdbc_b (id int primary key, v text)");
            try (PreparedStatement s = c.prepareStatement("insert into jdbc_b values (?, ?)")) {
                for (int n = 0; n < 500; n++) {
                    s.setInt(1, n);
                    s.setString(2, "v" + n);
                    s.addBatch();
                }
                same(s.executeBatch().length, 500);
            }
            same(one(c, "select count(*) from jdbc_b"), 500L);
            run(c, "drop table jdbc_b");
        });
        CASES.put("generated_keys", c -> {
            run(c, "create table jdbc_g (id serial primary key, v text)");
            try (PreparedStatement s =
                    c.prepareStatement("insert into jdbc_g (v) values (?)", Statement.RETURN_GENERATED_KEYS)) {
                s.setString(1, "a");
                same(s.executeUpdate(), 1);
                try (ResultSet r = s.getGeneratedKeys()) {
                    r.next();
                    same(r.getInt("id"), 1);
                }
            }
            run(c, "drop table jdbc_g");
        });
        CASES.put("transactions_and_savepoints", c -> {
            run(c, "create table jdbc_t (id int primary key)");
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            c.setAutoCommit(false);
            run(c, "insert into jdbc_t values (1)");
            Savepoint savepoint = c.setSavepoint();
            try {
                run(c, "insert into jdbc_t values (1)");
                throw new AssertionError("no error");
            } catch (PSQLException error) {
                same(error.getSQLState(), "23505");
                same(error.getServerErrorMessage().getConstraint(), "jdbc_t_pkey");
            }
            c.rollback(savepoint);
            run(c, "insert into jdbc_t values (2)");
            c.commit();
            run(c, "insert into jdbc_t values (3)");
            c.rollback();
            c.setAutoCommit(true);
            same(one(c, "select count(*) from jdbc_t"), 2L);
            run(c, "drop table jdbc_t");
        });
        CASES.put("rows_are_fetched_in_parts", c -> {
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.setFetchSize(100);
                try (ResultSet r = s.executeQuery("select n from generate_series(1, 5000) n")) {
                    long sum = 0;
                    while (r.next()) {
                        sum += r.getLong(1);
                    }
                    same(sum, 12502500L);
                }
            }
            c.commit();
        });
        CASES.put("copies", c -> {
            run(c, "create table jdbc_c (id int, v text)");
            var copy = c.unwrap(PGConnection.class).getCopyAPI();
            same(copy.copyIn("copy jdbc_c from stdin", new StringReader("1\ta\n2\t\\N\n")), 2L);
            StringWriter out = new StringWriter();
            same(copy.copyOut("copy jdbc_c to stdout", out), 2L);
            same(out.toString(), "1\ta\n2\t\\N\n");
            run(c, "drop table jdbc_c");
        });
        CASES.put("a_query_is_cancelled", c -> {
            try (Statement s = c.createStatement()) {
                Thread canceller = new Thread(() -> {
                    try {
                        Thread.sleep(300);
                        s.cancel();
                    } catch (Exception error) {
                        throw new RuntimeException(error);
                    }
                });
                canceller.start();
                try {
                    s.execute("select count(*) from generate_series(1, 30000) a, generate_series(1, 30000) b");
                    throw new AssertionError("no error");
                } catch (PSQLException error) {
                    same(error.getSQLState(), "57014");
                }
                canceller.join();
            }
            same(one(c, "select 1"), 1);
        });
        CASES.put("metadata_of_a_table", c -> {
            run(c, "create table jdbc_m (id int primary key, v varchar(10) not null)");
            try (ResultSet r = c.getMetaData().getColumns(null, "public", "jdbc_m", null)) {
                r.next();
                same(r.getString("COLUMN_NAME"), "id");
                r.next();
                same(r.getInt("COLUMN_SIZE"), 10);
            }
            try (ResultSet r = c.getMetaData().getPrimaryKeys(null, "public", "jdbc_m")) {
                r.next();
                same(r.getString("COLUMN_NAME"), "id");
            }
            run(c, "drop table jdbc_m");
        });
        CASES.put("the_simple_protocol", c -> {
            try (Connection simple = connect("&preferQueryMode=simple")) {
                same(one(simple, "select ?::int", 7), 7);
            }
        });
    }

    static Connection connect(String more) throws SQLException {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/"
                + System.getenv("PGDATABASE") + "?sslmode=disable&connectTimeout=20&socketTimeout=40" + more;
        return DriverManager.getConnection(url, System.getenv("PGUSER"), "");
    }

    public static void main(String[] args) {
        for (Map.Entry<String, Case> entry : CASES.entrySet()) {
            try (Connection c = connect("")) {
                entry.getValue().run(c);
                System.out.println("pass jdbc " + entry.getKey());
            } catch (Throwable error) {
                String text = String.valueOf(error.getMessage()).replaceAll("\\s+", " ");
                System.out.println("fail jdbc " + entry.getKey() + " " + text);
            }
        }
        System.exit(0);
    }
}
