import { describe, expect, it } from "vitest";
import type { ForgeComment } from "../kit/forge-server.ts";
import { ANNA, PROJECT, sharedWorld, until, type World } from "./forge-a-daemon.harness.ts";

const LONG = 60_000;

/** The last comment of the place is an answer that is done. */
const answered = (world: World, place = world.issue, count = 1) =>
  until(() => world.answers(place).filter(({ words }) => words.includes("answered")).length >= count);
/** That is the reason why nothing was done about a comment. */
const decided = (world: World, reason: string, { id }: ForgeComment) =>
  until(async () => (await world.decisions()).some((one) => one.reason?.includes(reason) && one.url.endsWith(`#note_${id}`)));

describe("a daemon at the far end of forge_a", () => {
  it(
    "HOOK-09 a mention in an issue gets the eye and an answer in its thread, both as the agent itself",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      const before = far.requests.length;
      const note = far.comment("ada", issue, "@anna please look");
      await answered(world);
      await until(() => (far.comments(note.place)[0]?.reactions.length ?? 0) > 0);
      expect(far.comments(note.place).map(({ by, reactions }) => [by, reactions])).toEqual([
        ["ada", [{ by: "anna", emoji: "eyes" }]],
        ["anna", []],
      ]);
      expect(world.answers(issue)[0]?.words).toContain("please look");
      expect(
        far.requests
          .slice(before)
          .filter(({ method }) => method !== "GET")
          .every(({ token }) => token === ANNA),
      ).toBe(true);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "HOOK-09 a merge request, a line of its diff, a commit and a description are answered where they stand",
    async () => {
      const world = await sharedWorld();
      const { far } = world;
      const request = far.open("ada", PROJECT, "request", { title: "Topic", text: "@anna the description" });
      await answered(world, request);
      const line = far.comment("ada", request, "@anna this line", { position: { path: "src/a.ts", line: 7 } });
      await answered(world, line.place);
      const single = far.comment("ada", request, "@anna the whole");
      await answered(world, single.place);
      const commit = far.commit(PROJECT, "d".repeat(40));
      const note = far.comment("ada", commit, "@anna this commit");
      await answered(world, note.place);
      expect(far.comments(line.place).at(-1)).toMatchObject({ by: "anna", position: { path: "src/a.ts", line: 7 } });
      expect(world.answers(line.place)[0]?.words).toContain("src/a.ts");
      expect(world.answers(request)).toHaveLength(3);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "HOOK-07 HOOK-08 its own notes, told twice, late, turned round and after a restart, start nothing; two agents are two runs",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      const before = far.hooks.deliveries.length;
      far.comment("ada", issue, "@anna and @bert, say something");
      await answered(world, issue, 2);
      expect(new Set(world.answers(issue).map(({ by }) => by))).toEqual(new Set(["anna", "svc"]));
      await far.hooks.settled();
      const own = far.hooks.deliveries.slice(before).filter(({ body }) => /"username":"(anna|svc)"/.test(body));
      expect(own.length).toBeGreaterThan(0);
      await world.daemon().kill("SIGKILL");
      await world.start();
      for (const delivery of far.hooks.deliveries.slice(before).reverse()) {
        await far.hooks.redeliver(delivery);
        await far.hooks.redeliver(delivery, { fresh: true });
      }
      await decided(world, "no agent is mentioned", far.comment("ada", issue, "nobody is meant"));
      await world.idle();
      expect(world.answers(issue)).toHaveLength(2);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "a command in an answer is never run: the far end executes what it finds in notes of its API",
    async () => {
      const world = await sharedWorld();
      const { far } = world;
      // The agent says back what it was told, line for line.
      const lines = ["/merge", "~~~", "/merge", "~~~", "```", "```", "/close", "/label ~bug", " /approve", "\u200b/close", "> /merge", "", "/title gone"];
      const request = far.open("ada", PROJECT, "request", { title: "/merge", text: `@anna say back:\n${lines.join("\n")}` });
      await answered(world, request);
      far.describe("ada", request, "@bert, you as well:\r\n/merge\r\n\u2028/merge\r/merge\n\t/merge\n/close");
      await answered(world, request, 2);
      const said = world.answers(request).map(({ text }) => text);
      expect(said.every((text) => text.includes("/merge"))).toBe(true);
      expect(said.join("\n")).not.toMatch(/^\//m);
      expect(far.item(request)).toEqual({ state: "open", labels: [] });
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "an edit that names an agent for the first time starts it, one that repeats itself does not; a note that is gone ends nothing",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      const note = far.comment("ada", issue, "look at this");
      await decided(world, "no agent is mentioned", note);
      far.edit("ada", note.id, "@anna look at this");
      await answered(world);
      far.edit("ada", note.id, "@anna look at this, please");
      await decided(world, "nobody new", note);
      expect(world.answers(issue)).toHaveLength(1);
      far.hooks.hold();
      const gone = far.comment("ada", issue, "@anna never mind");
      far.remove(gone.id);
      await far.hooks.release();
      far.comment("ada", issue, "@anna still there?");
      await answered(world, issue, 2);
      expect(world.answers(issue)).toHaveLength(2);
      expect(world.daemon().said()).not.toContain("uncaught");
      expect(far.violations).toEqual([]);
    },
    LONG,
  );

  it(
    "HOOK-07 who may not, bots, system notes and quotes start nothing, each with its reason; a confidential note is answered inside",
    async () => {
      const world = await sharedWorld();
      const { far, issue } = world;
      const outside = far.comment("mallory", issue, "@anna do it");
      const build = far.comment("ci-bot", issue, "@anna the build is red");
      const assigned = far.comment("ada", issue, "@anna was assigned", { system: true });
      const quote = far.comment("ada", issue, "> @anna said so");
      await decided(world, "outsider", outside);
      await decided(world, "bot", build);
      await decided(world, "system", assigned);
      await decided(world, "no agent is mentioned", quote);
      const hidden = far.comment("ada", issue, "@anna for us alone", { internal: true });
      await answered(world);
      expect(world.answers(issue).map(({ internal, place }) => [internal, place.thread])).toEqual([[true, hidden.place.thread]]);
      // The eye comes a moment later, also behind an answer that was quick.
      const seen = () => far.comments(issue).flatMap(({ by, reactions }) => (reactions.length > 0 ? [by] : []));
      await until(() => seen().length > 0);
      expect(seen()).toEqual(["ada"]);
      expect(far.violations).toEqual([]);
    },
    LONG,
  );
});
