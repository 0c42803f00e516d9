// Runs cases and says which pass: one line each, for run.sh.
export async function run(client, cases, connect, end) {
  for (const [name, f] of Object.entries(cases)) {
    let connection;
    try {
      connection = await connect();
      const late = new Promise((_, no) => setTimeout(() => no(new Error("timeout")), 30000).unref());
      await Promise.race([f(connection), late]);
      console.log(`pass ${client} ${name}`);
    } catch (error) {
      console.log(`fail ${client} ${name} ${String(error.message).replace(/\s+/g, " ").slice(0, 200)}`);
      if (process.env.VERBOSE) console.error(error);
    }
    if (connection) await Promise.race([end(connection), new Promise((yes) => setTimeout(yes, 1000))]).catch(() => {});
  }
}

export const address = {
  host: process.env.PGHOST,
  port: Number(process.env.PGPORT),
  user: process.env.PGUSER,
  database: process.env.PGDATABASE,
};
