// node-postgres: text results, named statements, streams over portals.
import assert from "node:assert/strict";
import pg from "pg";
import QueryStream from "pg-query-stream";
import { address, run } from "./cases.mjs";

const cases = {
  async select_one(c) {
    assert.deepEqual((await c.query("select 1 as n")).rows, [{ n: 1 }]);
  },
  async parameters_are_text(c) {
    const { rows } = await c.query("select $1::int a, $2::text b, $3::float8 c, $4::bool d", [42, "é'", 1.5, true]);
    assert.deepEqual(rows, [{ a: 42, b: "é'", c: 1.5, d: true }]);
  },
  async types_come_back(c) {
    const when = new Date("2024-01-02T03:04:05.678Z");
    const { rows } = await c.query(
      "select $1::timestamptz t, $2::numeric n, $3::bytea b, $4::jsonb j, $5::int4[] a, null::text x",
      [when, "1.50", Buffer.from([0, 255]), { a: [1, null] }, [1, 2]],
    );
    assert.deepEqual(rows[0], { t: when, n: "1.50", b: Buffer.from([0, 255]), j: { a: [1, null] }, a: [1, 2], x: null });
  },
  async binary_results(c) {
    const { rows } = await c.query({ text: "select 7::int4 n, 'x'::text t", binary: true, values: [] });
    assert.deepEqual(rows, [{ n: 7, t: "x" }]);
  },
  async named_statements(c) {
    for (let n = 0; n < 10; n++) {
      const { rows } = await c.query({ name: "plus", text: "select $1::int + 1 as n", values: [n] });
      assert.equal(rows[0].n, n + 1);
    }
  },
  async notifications_are_events(c) {
    const heard = new Promise((yes) => c.once("notification", yes));
    await c.query("listen npg_news");
    const other = new pg.Client(address);
    await other.connect();
    await other.query("select pg_notify('npg_news', 'é')");
    const { channel, payload, processId } = await heard;
    assert.deepEqual([channel, payload, processId], ["npg_news", "é", other.processID]);
    await other.end();
  },
  async several_statements_at_once(c) {
    const found = await c.query("select 1 as a; select 2 as b");
    assert.deepEqual(found.map((result) => result.rows), [[{ a: 1 }], [{ b: 2 }]]);
  },
  async an_empty_query(c) {
    assert.deepEqual((await c.query("")).rows, []);
    assert.deepEqual((await c.query("-- ping", [])).rows, []);
  },
  async transactions_commit_or_not(c) {
    await c.query("create table npg_t (id int primary key, v text)");
    await c.query("begin");
    await c.query("insert into npg_t values ($1, $2)", [1, "a"]);
    await c.query("commit");
    await c.query("begin");
    await c.query("insert into npg_t values ($1, $2)", [2, "b"]);
    await c.query("rollback");
    const done = await c.query("update npg_t set v = v || '!' returning id, v");
    assert.deepEqual([done.rowCount, done.command, done.rows], [1, "UPDATE", [{ id: 1, v: "a!" }]]);
    await c.query("drop table npg_t");
  },
  async errors_carry_their_fields(c) {
    await c.query("create table npg_e (id int primary key)");
    await c.query("insert into npg_e values (1)");
    await assert.rejects(c.query("insert into npg_e values ($1)", [1]), (error) => {
      assert.deepEqual([error.code, error.constraint, error.table], ["23505", "npg_e_pkey", "npg_e"]);
      return true;
    });
    assert.equal((await c.query("select 1 as n")).rows[0].n, 1);
    await c.query("drop table npg_e");
  },
  async queries_are_queued(c) {
    const all = await Promise.all(Array.from({ length: 100 }, (_, n) => c.query("select $1::int n", [n])));
    assert.deepEqual(all.map((result) => result.rows[0].n), Array.from({ length: 100 }, (_, n) => n));
  },
  async streams_read_in_parts(c) {
    const stream = c.query(new QueryStream("select n from generate_series(1, 5000) n", [], { batchSize: 100 }));
    let sum = 0;
    for await (const row of stream) sum += Number(row.n);
    assert.equal(sum, 12502500);
  },
  async streams_end_early(c) {
    const stream = c.query(new QueryStream("select n from generate_series(1, 5000) n", [], { batchSize: 10 }));
    for await (const row of stream) if (Number(row.n) === 15) break;
    assert.equal((await c.query("select 1 as n")).rows[0].n, 1);
  },
};

run("node-postgres", cases, async () => {
  const client = new pg.Client(address);
  client.on("error", () => {});
  await client.connect();
  return client;
}, (client) => client.end()).then(() => process.exit(0));
