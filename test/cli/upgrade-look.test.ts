import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createCli } from "../../cli/cli.ts";
import { lookAt } from "../../cli/upgrade/put-release.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { echoConfig } from "../kit/svc.ts";

/** A release whose program notes what it is called with. */
function release(folder: string): string {
  const calls = join(folder, "calls");
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(
    join(folder, "bin/svc.cjs"),
    `require("node:fs").appendFileSync(${JSON.stringify(calls)}, process.argv.slice(2).join(" ") + "\\n"); console.log("first line\\nsecond line");`,
  );
  return calls;
}

it("the state on a server is looked at by a new release, and not migrated", async () => {
  const [folder, next] = [await temporaryFolder(), await temporaryFolder()];
  const file = join(folder, "svc.json");
  const store = { url: "postgres://svc@127.0.0.1:9/postgres", schema: "look" };
  writeFileSync(file, JSON.stringify(echoConfig({}, { store, plugins: ["!store-sqlite"] })));
  mkdirSync(join(folder, ".svc"));
  const calls = release(next);
  const looks = await lookAt(
    createCli({ config: file }, {}, () => []),
    { folder: next, version: "2" },
  );
  expect(looks.at(-1)).toEqual({ what: "the state in postgres", ok: true, says: "second line" });
  expect(readFileSync(calls, "utf8").trim().split("\n")).toEqual(["--version", `config check --config ${file}`, `db status --config ${file}`]);
});

it("the state in the data folder is migrated in a copy", async () => {
  const [folder, next] = [await temporaryFolder(), await temporaryFolder()];
  const file = join(folder, "svc.json");
  writeFileSync(file, JSON.stringify(echoConfig()));
  mkdirSync(join(folder, ".svc"));
  const calls = release(next);
  await lookAt(
    createCli({ config: file }, {}, () => []),
    { folder: next, version: "2" },
  );
  const lines = readFileSync(calls, "utf8").trim().split("\n");
  expect(lines.slice(2)).toEqual([expect.stringMatching(/^db migrate --config .*\/tried\/svc\.json$/), expect.stringMatching(/^db check --config .*\/tried/)]);
  expect(lines.join()).not.toContain(`db migrate --config ${file}`);
});
