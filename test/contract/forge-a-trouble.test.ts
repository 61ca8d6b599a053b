import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ask } from "../faults/daemon.harness.ts";
import { ANNA, COMMON, createWorld, PROJECT, SECRET, sharedWorld, until, type World } from "./forge-a-daemon.harness.ts";

const LONG = 60_000;

/** The last comment of the place is an answer that is done. */
const answered = (world: World, place = world.issue, count = 1) =>
  until(() => world.answers(place).filter(({ words }) => words.includes("answered")).length >= count);
describe("a daemon whose forge_a makes trouble", () => {
  it("throttled, failing before and after the effect, cut off: each mention has one comment in the end, and no command of the forge is asked twice at once", async () => {
    const world = await sharedWorld();
    const { far, issue } = world;
    far.faults.next({ kind: "limited", retryAfter: "1" }, { method: "POST", path: "/discussions" });
    far.comment("ada", issue, "@anna one");
    await answered(world, issue, 1);
    far.faults.next({ kind: "status", status: 502, after: true }, { method: "POST", path: "/discussions" });
    far.comment("ada", issue, "@anna two");
    await answered(world, issue, 2);
    far.faults.next({ kind: "cut", after: true }, { method: "POST", path: "/discussions" });
    far.comment("ada", issue, "@anna three");
    await answered(world, issue, 3);
    expect(world.answers(issue)).toHaveLength(3);
    expect(far.violations).toEqual([]);
  }, 120_000);

  it(
    "what came while it was down is found once it is back, and answered once",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      far.comment("ada", issue, "@anna the first");
      await answered(world);
      await world.daemon().kill("SIGKILL");
      far.comment("ada", issue, "@anna while you were away");
      await far.hooks.settled();
      await world.start();
      await answered(world, issue, 2);
      expect(world.answers(issue)).toHaveLength(2);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "a token that is refused: the channel is down and names the setting; the others' answers go on",
    async () => {
      const world = await createWorld();
      const { far, issue } = world;
      far.revokeToken(ANNA);
      far.revokeToken(COMMON);
      await world.start();
      const { body } = await ask<{ channels: { name: string; state: string; reason?: string }[] }>(world.daemon().port, "/channels");
      const channel = body.channels.find(({ name }) => name === "forge_a");
      expect(channel).toMatchObject({ state: "down", reason: expect.stringContaining("channels.forge_a.token, channels.forge_a.agentMappings[0].token") });
      far.addToken(COMMON, "svc");
      await until(async () => {
        const now = await ask<{ channels: { name: string; state: string }[] }>(world.daemon().port, "/channels");
        return now.body.channels.find(({ name }) => name === "forge_a")?.state === "ready";
      });
      far.comment("ada", issue, "@bert hello");
      await answered(world);
      expect(world.answers(issue).map(({ by }) => by)).toEqual(["svc"]);
      expect(readFileSync(join(world.folder, ".svc/daemon.json"), "utf8") + world.daemon().said()).not.toContain("glpat-");
    },
    LONG,
  );

  it(
    "who mentions an agent while the forge has not yet said whose its token is, is answered once it has",
    async () => {
      const world = await createWorld();
      const { far, issue } = world;
      far.faults.next({ kind: "status", status: 500 }, { path: /\/user$/, token: ANNA, times: 1_000 });
      await world.start({ agentMappings: [{ agentId: "anna", token: ANNA }] });
      const asked = far.comment("ada", issue, "@anna please look");
      await far.hooks.settled();
      const nobody = far.comment("ada", far.open("ada", PROJECT, "issue", { title: "Another" }), "nobody is meant");
      await until(async () => (await world.decisions()).some(({ url }) => url.endsWith(`#note_${nobody.id}`)));
      expect((await world.decisions()).filter(({ url }) => url.endsWith(`#note_${asked.id}`))).toEqual([]);
      far.faults.clear();
      await answered(world);
      expect(world.answers(issue).map(({ by }) => by)).toEqual(["anna"]);
    },
    LONG,
  );

  it(
    "HOOK-06 a webhook without the secret is 401, with two that differ too, and one that is no payload 400",
    async () => {
      const world = await sharedWorld();
      const post = async (headers: Record<string, string>, body: unknown) =>
        (
          await fetch(world.hook, {
            method: "POST",
            headers: { "content-type": "application/json", ...headers },
            body: typeof body === "string" ? body : JSON.stringify(body),
          })
        ).status;
      expect(await post({}, {})).toBe(401);
      expect(await post({ "x-gitlab-token": "wrong" }, {})).toBe(401);
      expect(await post({ "x-gitlab-token": SECRET, "x-forge-token": "wrong" }, { object_kind: "push" })).toBe(401);
      expect(await post({ "x-gitlab-token": SECRET }, "{broken")).toBe(400);
      expect(await post({ "x-gitlab-token": SECRET }, { object_kind: "note" })).toBe(400);
      expect(await post({ "x-gitlab-token": SECRET }, { object_kind: "push" })).toBe(204);
      expect(await post({ "x-forge-token": SECRET }, { object_kind: "push" })).toBe(204);
    },
    LONG,
  );

  it(
    "hooks of an old forge, which name neither discussion nor action, and signed ones of a new one are taken; a wrong signature is not",
    async () => {
      const world = await createWorld();
      const { far, issue } = world;
      const secret = `whsec_${Buffer.from("a secret of thirty-two characters").toString("base64")}`;
      await world.start({ webhookSecret: secret });
      const note = far.comment("ada", issue, "@anna from an old forge");
      await far.hooks.settled();
      // The hook of the stage knows another secret.
      const refused = far.hooks.deliveries.find(({ about }) => about === `comment:${note.id}`);
      expect(refused?.status).toBe(401);
      const body = JSON.parse(refused?.body ?? "{}") as { user: object; object_attributes: Record<string, unknown> };
      for (const key of ["discussion_id", "action", "updated_by_id", "internal"]) delete body.object_attributes[key];
      const old = { ...body, user: { id: 42_000, username: "somebody" }, event_type: undefined };
      const answer = await fetch(world.hook, {
        method: "POST",
        headers: { "content-type": "application/json", "x-gitlab-token": secret, "x-gitlab-event": "Note Hook" },
        body: JSON.stringify(old),
      });
      expect(answer.status).toBe(202);
      await answered(world);
      expect(world.answers(issue)[0]?.place.thread).toBe(note.place.thread);
      expect(world.answers(issue)[0]?.words).toContain("author: ada");
      far.hooks.add(world.hook, secret, { signature: true });
      far.comment("ada", issue, "@anna signed");
      await answered(world, issue, 2);
      await far.hooks.settled();
      expect(far.hooks.deliveries.filter(({ headers, status }) => "webhook-signature" in headers && status !== 202)).toEqual([]);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  const RECORDED = "/usr/share/gocode/src/github.com/xanzy/go-gitlab/testdata";
  it.skipIf(!existsSync(RECORDED))(
    "payloads that were recorded are answered with 2xx or a named 4xx (Debian: golang-github-xanzy-go-gitlab-dev)",
    async () => {
      const world = await sharedWorld();
      const answers: Record<string, number> = {};
      for (const folder of ["webhooks", "systemhooks"])
        for (const name of readdirSync(join(RECORDED, folder))) {
          const body = readFileSync(join(RECORDED, folder, name));
          const answer = await fetch(world.hook, { method: "POST", headers: { "content-type": "application/json", "x-gitlab-token": SECRET }, body });
          answers[`${folder}/${name}`] = answer.status;
          if (answer.status >= 300) expect(((await answer.json()) as { code?: string }).code, name).toMatch(/^SVC_/);
        }
      expect(Object.keys(answers).length).toBeGreaterThan(30);
      expect(Object.entries(answers).filter(([, status]) => status >= 500)).toEqual([]);
      expect(Object.entries(answers).filter(([name, status]) => /note_|\/issue|merge_request/.test(name) && status >= 300)).toEqual([]);
    },
    LONG,
  );
});
