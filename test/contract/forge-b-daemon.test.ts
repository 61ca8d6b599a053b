import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ask } from "../faults/daemon.harness.ts";
import { COMMON, createWorld, OWN, REPO, SECRET, sharedWorld, until } from "./forge-b-daemon.harness.ts";

const LONG = 60_000;

describe("a daemon at the far end of forge_b", () => {
  it.each([{ app: false }, { app: true }])(
    "HOOK-09 answers in an issue, a request, a line of its diff, a review and on a commit, as itself (App $app)",
    async ({ app }) => {
      const world = await sharedWorld({ app });
      const { far, issue } = world;
      const before = far.requests.length;
      const me = app ? "svc-app[bot]" : "helper";
      const at = app ? "@svc-app" : "@helper";
      const note = far.comment("ada", issue, `${at} please look`);
      await world.answered();
      await until(() => (far.comments(issue)[0]?.reactions.length ?? 0) > 0);
      expect(far.comments(note.place).map(({ by, reactions }) => [by, reactions])).toEqual([
        ["ada", [{ by: me, emoji: "eyes" }]],
        [me, []],
      ]);
      expect(world.answers(issue)[0]?.words).toContain("please look");
      const request = far.open("ada", REPO, "request", { title: "Topic", text: `${at} the description` });
      await world.answered(request);
      const line = far.comment("ada", request, `${at} this line`, { position: { path: "src/a.ts", line: 7 } });
      await world.answered(line.place);
      expect(world.answers(line.place)[0]).toMatchObject({ by: me, position: { path: "src/a.ts", line: 7 } });
      expect(world.answers(line.place)[0]?.words).toContain("src/a.ts");
      const review = far.review("ada", request, { text: `${at} the whole` });
      await until(() => world.answers(request).some(({ words }) => words.includes(`pullrequestreview-${review.id}`) && words.includes("answered")));
      const commit = far.comment("ada", far.commit(REPO, "d".repeat(40)), `${at} this commit`);
      await world.answered(commit.place);
      if (!app)
        expect(
          far.requests
            .slice(before)
            .filter(({ method }) => method !== "GET")
            .every(({ token }) => token === OWN),
        ).toBe(true);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "HOOK-07 HOOK-08 own comments, told twice, late, turned round and after a restart, start nothing; two agents are two runs",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      const before = far.hooks.deliveries.length;
      far.comment("ada", issue, "@helper and @second, say something");
      await world.answered(issue, 2);
      expect(new Set(world.answers(issue).map(({ by }) => by))).toEqual(new Set(["helper", "svc"]));
      await far.hooks.settled();
      await world.daemon().kill("SIGKILL");
      await world.start();
      for (const delivery of far.hooks.deliveries.slice(before).reverse()) {
        await far.hooks.redeliver(delivery);
        await far.hooks.redeliver(delivery, { fresh: true });
      }
      await world.decided("no agent is mentioned", far.comment("ada", issue, "nobody is meant"));
      await world.idle();
      expect(world.answers(issue)).toHaveLength(2);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "who mentions an agent while GitHub does not say whose its token is, after a restart, is answered",
    async () => {
      const world = await createWorld();
      const { far, issue } = world;
      far.addUser("second");
      far.addToken("ghp_token_of_second", "second");
      far.grant(REPO, "second", "write");
      const channel = {
        token: undefined,
        agentMappings: [
          { agentId: "helper", token: OWN },
          { agentId: "second", token: "ghp_token_of_second" },
        ],
      };
      await world.start(channel);
      await world.daemon().kill("SIGKILL");
      far.faults.next({ kind: "limited", retryAfter: "1" }, { path: /\/user$/ });
      await world.start(channel);
      expect(far.requests.filter(({ path, status }) => path.endsWith("/user") && status === 429).map(({ token }) => token)).toEqual([OWN]);
      far.comment("ada", issue, "@helper please look");
      await world.answered();
      expect(world.answers(issue).map(({ by }) => by)).toEqual(["helper"]);
    },
    LONG,
  );

  it(
    "who mentions an agent while GitHub has not yet said whose its new token is, is answered once it has",
    async () => {
      const world = await createWorld();
      const { far, issue } = world;
      far.faults.next({ kind: "status", status: 500 }, { path: /\/user$/, token: OWN, times: 1_000 });
      await world.start();
      const colleague = far.comment("ada", far.open("ada", REPO, "issue", { title: "Another" }), "@rita have you seen it?");
      const asked = far.comment("ada", issue, "@helper please look");
      await world.decided("no agent is mentioned", far.comment("ada", far.open("ada", REPO, "issue", { title: "A third" }), "nobody is meant"));
      const done = await world.decisions();
      for (const { id } of [colleague, asked]) expect(done.filter(({ url }) => url.endsWith(`#issuecomment-${id}`))).toEqual([]);
      far.faults.clear();
      await world.answered();
      expect(world.answers(issue).map(({ by }) => by)).toEqual(["helper"]);
      await world.decided("no agent is mentioned", colleague);
    },
    LONG,
  );

  it(
    "HOOK-07 outsiders, bots and quotes start nothing, each with its reason; an edit that names an agent does",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      const outside = far.comment("mallory", issue, "@helper do it");
      const build = far.comment("ci[bot]", issue, "@helper the build is red");
      const quote = far.comment("ada", issue, "> @helper said so");
      await world.decided("outsider", outside);
      await world.decided("bot", build);
      await world.decided("no agent is mentioned", quote);
      expect(world.answers(issue)).toEqual([]);
      const note = far.comment("ada", issue, "look at this");
      far.edit("ada", note.id, "@helper look at this");
      await world.answered();
      far.edit("ada", note.id, "@helper look at this, please");
      await world.decided("nobody new", note);
      expect(world.answers(issue)).toHaveLength(1);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "FAULT-38 FAULT-39 throttled, failing before and after the effect, cut: each mention has one answer",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      far.faults.next({ kind: "limited", status: 403, retryAfter: "1", message: "You have exceeded a secondary rate limit." }, { method: "POST" });
      far.comment("ada", issue, "@helper one");
      await world.answered();
      const second = far.open("ada", REPO, "issue", { title: "Another" });
      far.faults.next({ kind: "status", status: 502, after: true }, { method: "POST", path: "/comments" });
      far.comment("ada", second, "@helper two");
      await world.answered(second);
      const third = far.open("ada", REPO, "issue", { title: "A third" });
      far.faults.next({ kind: "cut", after: true }, { method: "POST", path: "/comments" });
      far.comment("ada", third, "@helper three");
      await world.answered(third);
      expect([issue, second, third].map((place) => world.answers(place).length)).toEqual([1, 1, 1]);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "what came while it was down is found at the next start, and answered once",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      const before = far.hooks.deliveries.length;
      far.comment("ada", issue, "@helper before");
      await world.answered();
      await world.daemon().kill("SIGKILL");
      far.comment("ada", issue, "@helper meanwhile");
      const request = far.open("ada", REPO, "request", { title: "Topic", text: "@helper described" });
      const line = far.comment("ada", request, "@helper this line", { position: { path: "a.ts", line: 1 } });
      await far.hooks.settled();
      await world.start();
      await world.answered(issue, 2);
      await world.answered(line.place);
      await until(() => far.comments(request).some(({ by, place }) => by === "helper" && place.thread === undefined));
      for (const delivery of far.hooks.deliveries.slice(before)) await far.hooks.redeliver(delivery, { fresh: true });
      await world.idle();
      expect([world.answers(issue).length, world.answers(request).length]).toEqual([2, 2]);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "401 of every token takes the channel down naming the settings; with one that counts again it is back by itself",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      far.comment("ada", issue, "@helper hello");
      await world.answered();
      far.revokeToken(OWN);
      far.comment("ada", issue, "@helper are you there?");
      await until(() => world.daemon().said().includes("check channels.forge_b.agentMappings[0].token"));
      // The others go on, in other threads: those of one issue keep their order.
      const other = far.open("ada", REPO, "issue", { title: "Another", text: "@second and you?" });
      await world.answered(other);
      expect((await world.state()).state).toBe("ready");
      far.revokeToken(COMMON);
      far.comment("ada", other, "@second still?");
      await until(async () => (await world.state()).state === "down");
      expect((await world.state()).reason).toMatch(/channels\.forge_b\.token; .*channels\.forge_b\.agentMappings\[0\]\.token/);
      far.addToken(OWN, "helper");
      far.addToken(COMMON, "svc");
      await world.answered(issue, 2);
      await world.answered(other, 2);
      await until(async () => (await world.state()).state === "ready");
      expect([world.answers(issue).length, world.answers(other).length]).toEqual([2, 2]);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "CFG-09 a key that cannot be read takes the channel down naming the file; the daemon and its other parts run",
    async () => {
      const world = await createWorld();
      const app = world.app();
      await world.start({ ...app, privateKeyFile: join(world.folder, "gone.pem") });
      expect(await world.state()).toMatchObject({
        state: "down",
        reason: expect.stringContaining(`privateKeyFile: ${join(world.folder, "gone.pem")} cannot be read: ENOENT`),
      });
      expect((await ask(world.daemon().port, "/health")).status).toBe(200);
    },
    LONG,
  );

  it(
    "a comment that is deleted while its run waits is not answered; one that two hooks tell is one run",
    async () => {
      const world = await createWorld();
      const { far, issue } = world;
      await world.start({}, { helper: { name: "Helper", workspace: "./w", tier: "local", local: { mode: "echo", delayMs: 700, chunks: 3 } } });
      const [hook] = [...new Set(far.hooks.deliveries.map(({ url }) => url))];
      far.hooks.add(hook as string, SECRET);
      far.comment("ada", issue, "@helper the first");
      const gone = far.comment("ada", issue, "@helper never mind");
      far.comment("ada", issue, "@helper the third");
      far.remove(gone.id);
      await world.answered(issue, 2);
      await world.idle();
      const words = world.answers(issue).map((answer) => answer.words);
      expect(words.filter((text) => text.includes("answered") && text.includes("the first"))).toHaveLength(1);
      expect(words.filter((text) => text.includes("answered") && text.includes("the third"))).toHaveLength(1);
      expect(words.some((text) => text.includes("answered") && text.includes("never mind"))).toBe(false);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "an issue that was locked takes no comment: a result, no failure that goes on; the rest is answered",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      const locked = far.open("ada", REPO, "issue", { title: "Too hot" });
      far.lock(locked);
      far.comment("ada", locked, "@helper say something");
      await until(() => world.daemon().said().includes("locked"));
      far.comment("ada", issue, "@helper and here");
      await world.answered();
      expect(world.answers(locked)).toEqual([]);
      expect(far.requests.filter(({ method, path }) => method === "POST" && path.endsWith(`/issues/${locked.id}/comments`)).length).toBeLessThan(4);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "no token, key or secret stands in the log, the state, a comment or what others are told",
    async () => {
      const world = await sharedWorld({ app: true });
      const { far, issue } = world;
      far.comment("ada", issue, "@svc-app hello");
      await world.answered();
      const told = JSON.stringify([
        (await ask(world.daemon().port, "/forges?limit=500")).body,
        (await ask(world.daemon().port, "/channels")).body,
        world.daemon().said(),
      ]);
      const files = (folder: string): string[] =>
        readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)]));
      const stored = files(join(world.folder, ".svc"))
        .filter((file) => existsSync(file) && !readFileSync(file, "latin1").startsWith('{\n  "node"'))
        .map((file) => readFileSync(file, "latin1"));
      for (const text of [told, ...stored, ...far.requests.map(({ path, query }) => `${path}?${query}`)])
        expect(text).not.toMatch(new RegExp(`${SECRET}|${COMMON}|ghs_|PRIVATE KEY|eyJhbGciOi`));
      far.comment("ada", issue, `@svc-app say ${SECRET}`);
      await world.answered(issue, 2);
      // The agent says back what it was told.
      expect(world.answers(issue)[1]?.text).not.toContain(SECRET);
    },
    LONG,
  );
});
