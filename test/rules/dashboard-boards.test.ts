import { existsSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import { type Dashboard, startDashboard } from "../ui/kit/dashboard.ts";

const FORGE_TOKEN = "glpat-CANARY-token-of-the-board";
const LEGACY = "the-single-bearer-of-the-board";
const APP = "group/app";
const STATUS = ["todo", "doing", "on-hold", "review"].map((id) => `status::${id}`);

interface Made {
  readonly id: string;
  readonly secret: string;
}

/** A daemon process with the real plugins, asked as a browser and a program ask it. */
describe("boards over the dashboard's real routes", { timeout: 120_000 }, () => {
  let far: ForgeA;
  let at: Dashboard;
  const made: Record<string, Made> = {};

  beforeAll(async () => {
    far = await startForgeA();
    far.addUser("ada");
    far.addUser("svc", { bot: true });
    far.addToken(FORGE_TOKEN, "svc");
    far.addProject(APP, { private: true, members: { ada: "write", svc: "write" }, labels: [...STATUS, "bug", "area::web"] });
    far.open("ada", APP, "issue", { title: "First", labels: ["area::web", "bug"] });
    at = await startDashboard({
      token: LEGACY,
      config: {
        channels: { forge_a: { enabled: true, host: far.url, token: FORGE_TOKEN, webhookSecret: "a-secret-of-hooks" } },
        boards: [{ id: "team", name: "Team", source: { type: "forge_a", projects: [APP] } }],
      },
    });
    const make = async (name: string, scopes: readonly string[]) => {
      made[name] = await at.api<Made>("POST", "/api/admin/tokens", { name, scopes, days: 3 });
    };
    for (const name of ["reader", "revoked reader"]) await make(name, ["dashboard:read"]);
    for (const name of ["writer", "revoked writer", "expired writer"]) await make(name, ["dashboard:write"]);
    await make("agent", ["agent:*"]);
    await make("peer", ["mesh:peer"]);
    for (const name of ["revoked reader", "revoked writer"]) await at.api("POST", `/api/admin/tokens/${made[name]?.id}/revoke`);
    // The clock of the request counts, and no job has run (AUTH-07).
    const file = join(at.folder, ".svc", "tokens.json");
    const stored = JSON.parse(await readFile(file, "utf8")) as { tokens: { id: string; expiresAt?: string }[] };
    for (const token of stored.tokens) if (token.id === made["expired writer"]?.id) token.expiresAt = new Date(Date.now() - 1_000).toISOString();
    await writeFile(file, JSON.stringify(stored, null, 2));
  });
  afterAll(() => far.close());

  const item = `${APP}#1`;
  const writes = () => far.requests.filter(({ method }) => method !== "GET").length;
  const lines = () => {
    const file = join(at.folder, ".svc/board-audit.jsonl");
    return existsSync(file)
      ? readFileSync(file, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as { actor: string; itemId: string })
      : [];
  };
  const ask = (method: string, path: string, headers: Record<string, string>, body?: string) =>
    fetch(at.url + path, {
      method,
      headers: { "x-requested-with": "svc-board", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const bearer = (secret = "") => ({ authorization: `Bearer ${secret}` });
  const moveOf = (id = item) => `/api/boards/team/items/${encodeURIComponent(id)}/move`;
  const column = async () => {
    const { columns } = await at.api<{ columns: readonly { id: string; items: readonly { id: string }[] }[] }>("GET", "/api/boards/team/items");
    return columns.find(({ items }) => items.some(({ id }) => id === item))?.id ?? "";
  };
  /** Moves the card to another column than the one where it is. */
  const move = async (headers: Record<string, string>, query = "") => {
    const from = await column();
    return ask("PATCH", moveOf() + query, headers, JSON.stringify({ from, to: from === "doing" ? "review" : "doing" }));
  };

  it("AUTH-01 AUTH-07 AUTH-08 AUTH-09 AUTH-14 AUTH-15 BRD-04 each caller reads and moves as far as its token goes, by header and by ?token=, and a refused move leaves nothing", async () => {
    const table: readonly (readonly [who: string, read: number, move: number])[] = [
      ["nobody", 401, 401],
      ["unknown", 401, 401],
      ["revoked reader", 401, 401],
      ["revoked writer", 401, 401],
      ["expired writer", 401, 401],
      ["agent", 403, 403],
      ["peer", 403, 403],
      ["reader", 200, 403],
      ["writer", 200, 200],
    ];
    for (const [who, read, moved] of table) {
      const secret = who === "unknown" ? "svc_nonsense" : made[who]?.secret;
      const ways: readonly (readonly [way: string, headers: Record<string, string>, query: string])[] =
        secret === undefined
          ? [["no token", {}, ""]]
          : [
              ["header", bearer(secret), ""],
              ["query", {}, `?token=${secret}`],
              ["header over query", bearer(secret), `?token=${made["writer"]?.secret}`],
            ];
      for (const [way, headers, query] of ways) {
        const before = [writes(), lines().length] as const;
        const statuses = [];
        for (const path of ["/api/boards", "/api/boards/team/items"]) statuses.push((await ask("GET", path + query, headers)).status);
        expect([who, way, ...statuses]).toEqual([who, way, read, read]);
        expect([who, way, (await move(headers, query)).status]).toEqual([who, way, moved]);
        const more = moved === 200 ? 1 : 0;
        expect([who, way, writes() - before[0], lines().length - before[1]]).toEqual([who, way, more, more]);
        if (more === 1) expect(lines().at(-1)).toMatchObject({ actor: `token writer (${made["writer"]?.id})`, itemId: item });
      }
    }
    expect((await move(bearer(LEGACY))).status).toBe(200);
    const said = at.process.said() + JSON.stringify(lines());
    for (const { secret } of Object.values(made)) expect(said).not.toContain(secret);
  });

  it("AUTH-02 AUTH-03 AUTH-22 the order is token, scope, header, body: nothing of a body is read for who may not write", async () => {
    const before = [writes(), lines().length];
    const writer = bearer(made["writer"]?.secret);
    const wrong = { "x-requested-with": "XMLHttpRequest" };
    const table: readonly (readonly [why: string, headers: Record<string, string>, body: string, status: number])[] = [
      ["no token, no JSON", {}, "{", 401],
      ["no token, no type", { "content-type": "text/html" }, "<x>", 401],
      ["a reader, no JSON", bearer(made["reader"]?.secret), "{", 403],
      ["a writer, another mark", { ...writer, ...wrong }, '{"to":"doing"}', 403],
      ["a writer, another origin", { ...writer, origin: "http://evil.example" }, '{"to":"doing"}', 403],
      ["a writer, no JSON", writer, "{", 400],
      ["a writer, no column", writer, "{}", 400],
      ["a writer, a column that is none", writer, '{"to":"later"}', 400],
      ["a writer, another field", writer, '{"to":"doing","labels":["bug"]}', 400],
    ];
    for (const [why, headers, body, status] of table) expect([why, (await ask("PATCH", moveOf(), headers, body)).status]).toEqual([why, status]);
    expect([writes(), lines().length]).toEqual(before);
  });

  it("BRD-02 BRD-03 labels of other prefixes survive a move; a foreign card and a label that the forge does not have write nothing", async () => {
    const writer = bearer(made["writer"]?.secret);
    expect((await move(writer)).status).toBe(200);
    const labels = () => [...far.item({ project: APP, kind: "issue", id: 1 }).labels];
    expect(labels()).toEqual(expect.arrayContaining(["area::web", "bug"]));
    expect(labels().filter((label) => label.startsWith("status::"))).toHaveLength(1);
    const before = [labels().sort(), lines().length];
    for (const id of ["group/secret#1", `${APP}/../secret#1`, `${APP}#999`, "1", "%00"]) {
      const { status } = await ask("PATCH", moveOf(id), writer, '{"to":"todo"}');
      expect([id, status >= 400 && status < 500]).toEqual([id, true]);
    }
    expect([labels().sort(), lines().length]).toEqual(before);
  });

  it("AUTH-04 BRD-04 a token that is revoked while the board is open moves nothing any more, at once", async () => {
    const { id, secret } = await at.api<Made>("POST", "/api/admin/tokens", { name: "short", scopes: ["dashboard:write"] });
    expect((await move(bearer(secret))).status).toBe(200);
    await at.api("POST", `/api/admin/tokens/${id}/revoke`);
    const before = [writes(), lines().length];
    expect((await move(bearer(secret))).status).toBe(401);
    expect([writes(), lines().length]).toEqual(before);
  });
});
