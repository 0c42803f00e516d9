// node-postgres with SCRAM over TLS: run.sh has started a server that lets nobody else in.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import pg from "pg";
import { address, run } from "./cases.mjs";

const ca = readFileSync(process.env.PGSSLROOTCERT, "utf8");
const given = { ...address, host: "localhost", user: "ann", password: process.env.SECRET, ssl: { ca } };

async function refused(changes, code) {
  const client = new pg.Client({ ...given, ...changes });
  client.on("error", () => {});
  await assert.rejects(client.connect(), (error) => {
    assert.equal(error.code, code);
    return true;
  });
}

const cases = {
  async scram_over_tls(c) {
    assert.deepEqual((await c.query("select current_user as name")).rows, [{ name: "ann" }]);
  },
  async the_channel_is_bound() {
    const client = new pg.Client({ ...given, enableChannelBinding: true });
    await client.connect();
    assert.deepEqual((await client.query("select 1 as n")).rows, [{ n: 1 }]);
    await client.end();
  },
  async a_wrong_password_is_refused() {
    await refused({ password: "wrong" }, "28P01");
  },
  async without_tls_nobody_comes_in() {
    await refused({ ssl: false }, "28000");
  },
};

run("node-secure", cases, async () => {
  const client = new pg.Client(given);
  client.on("error", () => {});
  await client.connect();
  return client;
}, (client) => client.end()).then(() => process.exit(0));
