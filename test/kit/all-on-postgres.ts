import { NO_POSTGRES, startPostgres } from "./postgres.ts";

/** With `SVC_TEST_STORE=postgres`: one server for all test files, whose address they find in the environment. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.SVC_TEST_STORE !== "postgres") return undefined;
  if (NO_POSTGRES !== undefined) throw new Error(NO_POSTGRES);
  const server = await startPostgres(300);
  process.env.SVC_TEST_POSTGRES = server.schema().url;
  return () => server.stop();
}
