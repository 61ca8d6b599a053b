import { createHash } from "node:crypto";
import { chmod, chown, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFolder } from "@svc/kernel/folder";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { createTokenAuthority } from "../../plugins/features/tokens/authority.ts";
import { createLastUsed } from "../../plugins/features/tokens/last-used.ts";
import { makeToken, type Token } from "../../plugins/features/tokens/token.ts";
import { openTokenFile } from "../../plugins/features/tokens/token-file.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { ON_SERVER } from "../kit/test-store.ts";
import { bearer, framesOf, type Guarded, get, guarded, processIn, send, svcIn } from "./auth.harness.ts";

const ask = (at: Guarded, secret: string, agent = "foo") => send(at.dashboard, `/api/public/agents/${agent}/messages`, { message: "hello" }, bearer(secret));
const stored = async (dataFolder: string) => (JSON.parse(await readFile(join(dataFolder, "tokens.json"), "utf8")) as { tokens: Token[] }).tokens;
const DAY = 86_400_000;
const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;

describe("making tokens", () => {
  it("AUTH-06 shows the secret exactly once and keeps nothing but its hash", async () => {
    const at = await guarded();
    const { code, stdout, stderr } = await at.svc("token", "create", "--name", "web site", "--scope", "agent:foo");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^svc_live_[0-9a-f]{64}\n$/);
    const secret = stdout.trim();
    expect(stderr).not.toContain(secret);
    const [token] = await stored(at.dataFolder);
    expect(token).toEqual({
      id: expect.stringMatching(/^tok_[0-9a-f]{16}$/),
      name: "web site",
      scope: ["agent:foo"],
      prefix: secret.slice(0, 15),
      hash: createHash("sha256").update(secret).digest("hex"),
      createdAt: expect.any(String),
    });
    expect((await stat(join(at.dataFolder, "tokens.json"))).mode & 0o777).toBe(0o600);

    const answers = [await ask(at, secret), await get(at.dashboard, "/api/live"), await get(at.dashboard, `/api/live?token=${secret}`)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 403]);
    const lists = [await at.svc("token", "list"), await at.svc("--json", "token", "list"), await at.svc("token", "revoke", token?.id ?? "")];
    expect(JSON.parse(lists[1]?.stdout ?? "")).toEqual([expect.objectContaining({ id: token?.id, prefix: secret.slice(0, 15), status: "active" })]);
    await at.kernel.stop();
    const files = await readdir(at.folder, { recursive: true, withFileTypes: true });
    const contents = await Promise.all(files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), "latin1")));
    const seen = [...answers.map(({ text }) => text), ...lists.flatMap((run) => [run.stdout, run.stderr]), ...contents].join("\n");
    expect(seen).not.toContain(secret);
    expect(seen).not.toContain(secret.slice(20));
    expect((await stored(at.dataFolder))[0]).toMatchObject({ id: token?.id, revokedAt: expect.any(String) });
  });

  it("AUTH-20 refuses scopes without a meaning and lists the valid ones; mesh:peer may be made and opens nothing", async () => {
    const folder = await temporaryFolder();
    for (const scope of ["dashboard:admin", "task:write", "agent:", "agent:Foo", "agent:a b", "everything", "", "__proto__"]) {
      const { code, stdout, stderr } = await svcIn(folder, ["token", "create", "--name", "x", "--scope", scope]);
      expect([code, stdout], scope).toEqual([2, ""]);
      for (const valid of ["dashboard:read", "dashboard:write", "agent:<id>", "agent:*", "mesh:peer"]) expect(stderr, scope).toContain(valid);
    }
    expect(await readdir(folder)).toEqual([]);
    const at = await guarded();
    const { secret } = await at.token("mesh:peer");
    expect((await ask(at, secret)).status).toBe(403);
    expect((await get(at.dashboard, "/api/live", bearer(secret))).status).toBe(403);
    expect((await get(at.daemon, "/traces", { ...bearer(secret), "x-forwarded-for": "8.8.8.8" })).status).toBe(403);
  });

  it("AUTH-20 undefined scopes on a stored record grant nothing", async () => {
    const at = await guarded();
    const { token, secret } = makeToken("old", ["dashboard:admin", "task:write", "admin", "*"], undefined, Date.now());
    await openTokenFile(createFolder(at.dataFolder)).change(() => [token]);
    expect((await get(at.dashboard, "/api/live", bearer(secret))).status).toBe(403);
    expect((await ask(at, secret)).status).toBe(403);
  });

  it("AUTH-07 --expires takes whole days of at least 1", async () => {
    const folder = await temporaryFolder();
    for (const days of ["0", "-1", "1.5", "x", "", "1e3", "99999999"]) {
      const { code, stderr } = await svcIn(folder, ["token", "create", "--name", "x", "--scope", "agent:*", `--expires=${days}`]);
      expect(code, days).not.toBe(0);
      expect(stderr, days).toContain("--expires");
    }
    const { code } = await svcIn(folder, ["token", "create", "--name", "x", "--scope", "agent:*", "--expires", "1"]);
    expect(code).toBe(0);
    const [token] = await stored(join(folder, ".svc"));
    expect(Date.parse(token?.expiresAt ?? "") - Date.parse(token?.createdAt ?? "")).toBe(DAY);
  });

  it("CLI-03 works without a daemon and without a configuration, and an unknown id fails", async () => {
    const folder = await temporaryFolder();
    expect((await svcIn(folder, ["token", "list"])).stdout).toContain("There are no tokens");
    const made = await svcIn(folder, ["--json", "token", "create", "--name", "x", "--scope", "agent:a,agent:b", "--scope", "dashboard:read"]);
    expect(JSON.parse(made.stdout)).toMatchObject({ scope: ["agent:a", "agent:b", "dashboard:read"], status: "active" });
    const { id } = JSON.parse(made.stdout) as { id: string };
    expect((await svcIn(folder, ["token", "revoke", id])).code).toBe(0);
    const [first] = await stored(join(folder, ".svc"));
    const again = await svcIn(folder, ["token", "revoke", id]);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("revoked already")]);
    expect(await stored(join(folder, ".svc"))).toEqual([first]);
    const unknown = await svcIn(folder, ["token", "revoke", "tok_0"]);
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("svc token list")]);
    expect((await svcIn(folder, ["token", "frobnicate"])).code).not.toBe(0);
  });
});

describe("judging tokens", () => {
  it("AUTH-01 missing, unknown, revoked and expired are 401; valid without the scope is 403; revoked without the scope is 401", async () => {
    const at = await guarded();
    const [good, other, gone] = await Promise.all([at.token("agent:foo"), at.token("agent:foobar"), at.token("agent:foobar")]);
    const expired = makeToken("expired", ["agent:foo"], 1, Date.now() - DAY - 1_000);
    await openTokenFile(createFolder(at.dataFolder)).change((tokens) => [...tokens, expired.token]);
    await at.svc("token", "revoke", gone.id);
    const path = "/api/public/agents/foo/messages";
    expect((await send(at.dashboard, path, { message: "x" })).status).toBe(401);
    expect((await ask(at, good.secret)).status).toBe(200);
    expect((await ask(at, other.secret)).status).toBe(403);
    expect((await ask(at, gone.secret)).status).toBe(401);
    expect((await ask(at, expired.secret)).status).toBe(401);
    for (const secret of ["x", `${good.secret}0`, good.secret.slice(0, -1), good.secret.toUpperCase(), `svc_live_${"0".repeat(64)}`, good.id]) {
      expect((await ask(at, secret)).status, secret).toBe(401);
    }
  });

  it("AUTH-04 a revocation by another process is in force at the very next request, and ends the open streams of that token alone", async () => {
    const at = await guarded();
    const [gone, stays] = await Promise.all([at.token("dashboard:read"), at.token("dashboard:read")]);
    const open = (secret: string) => fetch(`${at.dashboard}/api/live/stream`, { headers: bearer(secret) });
    const streams = [framesOf(await open(gone.secret)), framesOf(await open(stays.secret))] as const;
    for (const stream of streams) expect((await stream.next()).value).toMatchObject({ event: "snapshot", data: { daemons: [{ ok: true }] } });

    expect((await at.svc("token", "revoke", gone.id)).code).toBe(0);
    expect((await get(at.dashboard, "/api/live", bearer(gone.secret))).status).toBe(401);
    for (let frame = await streams[0].next(); !frame.done; frame = await streams[0].next());
    expect((await get(at.dashboard, "/api/live", bearer(stays.secret))).status).toBe(200);
    await at.kernel.tasks.run({ entry: "task", channel: "http", chat: "c", text: "hello", agent: "foo" });
    expect((await streams[1].next()).value).toMatchObject({ event: "event" });
    await streams[1].return(undefined);
  });

  it("AUTH-05 noting the last use never brings a revoked token back, whatever happens at once", async () => {
    const at = await guarded();
    const { id, secret } = await at.token("dashboard:read");
    let asking = true;
    const statuses: number[] = [];
    /** Of what was asked after one was refused. */
    const later: number[] = [];
    const asked = Promise.all(
      [1, 2, 3, 4].map(async () => {
        while (asking) {
          const refused = statuses.includes(401);
          const { status } = await get(at.dashboard, "/api/live", bearer(secret));
          statuses.push(status);
          if (refused) later.push(status);
        }
      }),
    );
    await vi.waitFor(() => expect(statuses).toContain(200));
    const made = Promise.all([1, 2, 3].map(() => processIn(at.folder, ["token", "create", "--name", "more", "--scope", "agent:*"])));
    await at.svc("token", "revoke", id);
    await vi.waitFor(() => expect(later.length).toBeGreaterThan(8));
    asking = false;
    await Promise.all([asked, made]);
    expect(new Set(later)).toEqual(new Set([401]));
    await at.kernel.stop();
    const tokens = await stored(at.dataFolder);
    expect(tokens).toHaveLength(4);
    expect(tokens.find((token) => token.id === id)).toMatchObject({ revokedAt: expect.any(String), lastUsedAt: expect.any(String) });
    expect((await readdir(at.dataFolder)).filter((name) => /tokens\.json./.test(name))).toEqual([]);
  });

  it("AUTH-05 writes the time of use and nothing else over what another process wrote meanwhile", async () => {
    const folder = createFolder(await temporaryFolder());
    const file = openTokenFile(folder);
    const { token } = makeToken("a", ["agent:*"], undefined, 0);
    await file.change(() => [token]);
    const due: number[] = [];
    const lastUsed = createLastUsed(file, () => due.push(1));
    lastUsed.note(token, 1_000);
    lastUsed.note(token, 2_000);
    expect(due).toHaveLength(1);
    await openTokenFile(folder).change((tokens) => tokens.map((one) => ({ ...one, revokedAt: new Date(1_500).toISOString() })));
    await lastUsed.flush();
    expect(file.read()).toEqual([{ ...token, revokedAt: new Date(1_500).toISOString(), lastUsedAt: new Date(1_000).toISOString() }]);
    lastUsed.note(file.read()[0] as Token, 30_000);
    expect(due).toHaveLength(1);
  });

  it("AUTH-07 expired is what the clock says at the request, to the millisecond, with no job having run", async () => {
    const file = openTokenFile(createFolder(await temporaryFolder()));
    let now = 0;
    const { token, secret } = makeToken("a", ["agent:*"], 1, 0);
    const { verify } = createTokenAuthority({ file, used() {}, corrupt() {}, now: () => now });
    await file.change(() => [token]);
    now = DAY - 1;
    expect(await verify(secret)).toEqual({ kind: "token", id: token.id, name: "a", scopes: ["agent:*"] });
    now = DAY;
    expect(await verify(secret)).toBeUndefined();
    now = DAY - 1;
    expect(await verify(secret)).toBeDefined();

    const folder = await temporaryFolder();
    const past = makeToken("late", ["agent:*"], 1, Date.now() - DAY - 1_000);
    await openTokenFile(createFolder(join(folder, ".svc"))).change(() => [past.token]);
    expect(JSON.parse((await svcIn(folder, ["--json", "token", "list"])).stdout)).toMatchObject([{ id: past.token.id, status: "expired" }]);
  });

  it("AUTH-08 scopes are exact, agent:* opens no private agent, and the families do not mix", async () => {
    const at = await guarded();
    const [foo, all, read, write] = await Promise.all([at.token("agent:foo"), at.token("agent:*"), at.token("dashboard:read"), at.token("dashboard:write")]);
    expect((await ask(at, foo.secret, "foobar")).status).toBe(403);
    expect((await ask(at, all.secret, "foobar")).status).toBe(200);
    expect((await ask(at, all.secret, "hidden")).body).toMatchObject({ code: "SVC_DASHBOARD_AGENT_PRIVATE" });
    expect((await ask(at, all.secret, "hidden")).status).toBe(403);
    for (const { secret } of [read, write]) expect((await ask(at, secret)).status).toBe(403);
    for (const { secret } of [foo, all]) expect((await get(at.dashboard, "/api/live", bearer(secret))).status).toBe(403);
    for (const { secret } of [read, write]) expect((await get(at.dashboard, "/api/live", bearer(secret))).status).toBe(200);
    const action = `/api/task/action?node=http://localhost:18800&task=x&kind=cancel`;
    expect((await send(at.dashboard, action, {}, bearer(read.secret))).status).toBe(403);
    expect((await send(at.dashboard, action, {}, bearer(write.secret))).status).toBe(404);
  });
});

describe("the file", () => {
  it.skipIf(ON_SERVER !== undefined)(
    "FAULT-14 a corrupt file closes everything, is moved aside with an event, and no token of before ever comes back",
    async () => {
      const at = await guarded();
      const { id, secret } = await at.token("agent:foo");
      const before = await readFile(join(at.dataFolder, "tokens.json"));
      expect((await ask(at, secret)).status).toBe(200);
      const events: string[] = [];
      at.kernel.bus.subscribe(({ type }) => events.push(type));
      const garbage = before.subarray(0, before.length / 2);
      await writeFile(join(at.dataFolder, "tokens.json"), garbage);
      expect((await ask(at, secret)).status).toBe(401);
      await vi.waitFor(() => expect(events).toContain("tokens:corrupt"));
      const copies = (await readdir(at.dataFolder)).filter((name) => /^tokens\.json\.corrupt\.\d+$/.test(name));
      expect(copies).toHaveLength(1);
      expect(await readFile(join(at.dataFolder, copies[0] as string))).toEqual(garbage);
      expect((await ask(at, secret)).status).toBe(401);
      const next = await at.token("agent:foo");
      expect((await ask(at, next.secret)).status).toBe(200);
      expect((await ask(at, secret)).status).toBe(401);
      expect((await stored(at.dataFolder)).map((token) => token.id)).not.toContain(id);
      expect(events.filter((type) => type === "tokens:corrupt")).toHaveLength(1);
    },
  );

  it("FAULT-14 the command line meets a corrupt file in the same way, and says so beside the new secret", async () => {
    const folder = await temporaryFolder();
    await createFolder(join(folder, ".svc")).write("tokens.json", "garbage");
    const listed = await svcIn(folder, ["token", "list"]);
    expect([listed.code, listed.stderr]).toEqual([1, expect.stringContaining("damaged")]);
    const { code, stdout, stderr } = await svcIn(folder, ["token", "create", "--name", "x", "--scope", "agent:*"]);
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^svc_live_[0-9a-f]{64}\n$/), expect.stringContaining("damaged")]);
    expect(await stored(join(folder, ".svc"))).toHaveLength(1);
    expect((await readdir(join(folder, ".svc"))).filter((name) => name.includes("corrupt"))).toHaveLength(1);
  });

  it("FAULT-14 at a start the corrupt file is found before anybody asks, and one that others may read is closed", async () => {
    const first = await guarded();
    await first.token("agent:foo");
    await first.kernel.stop();
    const listen = { options: { folder: first.folder, dataFolder: first.dataFolder } };
    const { chmod } = await import("node:fs/promises");
    await chmod(join(first.dataFolder, "tokens.json"), 0o644);
    const second = await guarded(listen);
    expect((await stat(join(first.dataFolder, "tokens.json"))).mode & 0o777).toBe(0o600);
    await second.kernel.stop();
    await writeFile(join(first.dataFolder, "tokens.json"), "[]");
    await guarded(listen);
    await expect.poll(async () => (await readdir(first.dataFolder)).filter((name) => name.includes("corrupt"))).toHaveLength(1);
  });

  it("FAULT-14 no flipped byte and no cut makes a revoked token live", async () => {
    const folder = await temporaryFolder();
    const file = openTokenFile(createFolder(folder));
    const revoked = makeToken("revoked", ["agent:*"], undefined, 0);
    await file.change(() => [{ ...revoked.token, revokedAt: new Date(1).toISOString() }, makeToken("other", ["agent:*"], undefined, 0).token]);
    const whole = await readFile(file.path);
    let live = 0;
    const { verify } = createTokenAuthority({ file, used: () => live++, corrupt() {}, now: () => 10 * DAY });
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), async (at, flip, cut) => {
        const bytes = Buffer.from(cut ? whole.subarray(0, at) : whole);
        if (!cut) bytes[at] = (bytes[at] as number) ^ flip;
        await writeFile(file.path, bytes);
        // A flipped version number is refused with an error, which is no identity either.
        expect(await verify(revoked.secret).catch(() => undefined)).toBeUndefined();
      }),
      { numRuns: 600 },
    );
    expect(live).toBe(0);
  });

  it("one of a newer version is left as it is, and no token is accepted", async () => {
    const file = openTokenFile(createFolder(await temporaryFolder()));
    const { token, secret } = makeToken("a", ["agent:*"], undefined, 0);
    await file.change(() => [token]);
    const newer = (await readFile(file.path, "utf8")).replace('"version": 1', '"version": 2');
    await writeFile(file.path, newer);
    const { verify } = createTokenAuthority({ file, used() {}, corrupt() {} });
    await expect(verify(secret)).rejects.toMatchObject({ code: "SVC_TOKENS_NEWER" });
    await expect(file.change(() => [])).rejects.toMatchObject({ code: "SVC_TOKENS_NEWER" });
    expect(await readFile(file.path, "utf8")).toBe(newer);
  });

  it("one that this user may not read, or close to others, is named with its owner and the command that mends it", async () => {
    const folder = await temporaryFolder();
    const file = openTokenFile(createFolder(folder));
    const { token } = makeToken("a", ["agent:*"], undefined, 0);
    await file.change(() => [token]);
    await chmod(file.path, 0o000);
    if (IS_ROOT) await chown(folder, NOBODY, NOBODY);
    const told = (next: RegExp) => expect.objectContaining({ code: "SVC_TOKENS_FORBIDDEN", message: expect.stringMatching(next) });
    const next = IS_ROOT ? /tokens\.json belongs to user 0, and svc runs as user 65534, who may not read it; run: chown 65534 \// : /run: chmod 600 \//;
    if (IS_ROOT) process.seteuid?.(NOBODY);
    try {
      expect(() => file.read()).toThrow(told(next));
      await expect(file.change(() => [])).rejects.toEqual(told(next));
      if (IS_ROOT) {
        process.seteuid?.(0);
        await chmod(file.path, 0o644);
        process.seteuid?.(NOBODY);
        expect(() => file.closeToOthers()).toThrow(told(/may not close it to other users; run: chown 65534 \//));
      }
    } finally {
      process.seteuid?.(process.getuid?.() ?? 0);
    }
  });

  it("AUTH-04 every change is seen by the next look, also one of the same size in the same moment", async () => {
    const folder = createFolder(await temporaryFolder());
    const file = openTokenFile(folder);
    const { token, secret } = makeToken("a", ["agent:*"], undefined, 0);
    const { verify } = createTokenAuthority({ file, used() {}, corrupt() {} });
    const swapped = { ...token, hash: "0".repeat(64) };
    for (let turn = 0; turn < 50; turn += 1) {
      await openTokenFile(folder).change(() => [turn % 2 === 0 ? token : swapped]);
      expect((await verify(secret)) !== undefined).toBe(turn % 2 === 0);
    }
  });
});
