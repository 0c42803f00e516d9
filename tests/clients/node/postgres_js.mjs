// postgres.js: pipelines by default, prepared statements, type introspection, cursors.
import assert from "node:assert/strict";
import postgres from "postgres";
import { address, run } from "./cases.mjs";

const cases = {
  async select_one(sql) {
    assert.equal((await sql`select 1 as n`)[0].n, 1);
  },
  async parameters(sql) {
    const [row] = await sql`select ${42}::int a, ${"é'"}::text b, ${true}::bool c, ${null}::text d`;
    assert.deepEqual({ ...row }, { a: 42, b: "é'", c: true, d: null });
  },
  async pipelines(sql) {
    const all = await Promise.all(Array.from({ length: 100 }, (_, n) => sql`select ${n}::int n`));
    assert.deepEqual(all.map((rows) => rows[0].n), Array.from({ length: 100 }, (_, n) => n));
  },
  async transactions_and_savepoints(sql) {
    await sql`create table pjs_t (id int primary key)`;
    await sql.begin(async (sql) => {
      await sql`insert into pjs_t values (1)`;
      await sql.savepoint((sql) => sql`insert into pjs_t values (1)`).catch((error) => assert.equal(error.code, "23505"));
      await sql`insert into pjs_t values (2)`;
    });
    assert.equal((await sql`select count(*)::int n from pjs_t`)[0].n, 2);
    await sql`drop table pjs_t`;
  },
  async inserts_of_many_rows(sql) {
    await sql`create table pjs_m (id int, v text)`;
    const rows = Array.from({ length: 300 }, (_, n) => ({ id: n, v: String(n) }));
    await sql`insert into pjs_m ${sql(rows, "id", "v")}`;
    assert.equal((await sql`select count(*)::int n from pjs_m`)[0].n, 300);
    await sql`drop table pjs_m`;
  },
  async cursors_read_in_parts(sql) {
    let n = 0;
    await sql`select * from generate_series(1, 100) x`.cursor(10, (rows) => { n += rows.length; });
    assert.equal(n, 100);
  },
  async listens_on_a_connection_of_its_own(sql) {
    let heard;
    const all = new Promise((yes) => { heard = yes; });
    const { unlisten } = await sql.listen("pjs_news", heard);
    await sql.notify("pjs_news", "said");
    assert.equal(await all, "said");
    await unlisten();
  },
  async simple_queries(sql) {
    const found = await sql.unsafe("select 1 as a; select 2 as b");
    assert.deepEqual(found.map((rows) => ({ ...rows[0] })), [{ a: 1 }, { b: 2 }]);
  },
};

run("postgres.js", cases, async () => postgres({ ...address, max: 1, onnotice() {}, connect_timeout: 20 }),
  (sql) => sql.end({ timeout: 1 })).then(() => process.exit(0));
