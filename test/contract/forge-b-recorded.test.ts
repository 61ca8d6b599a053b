import { createHmac } from "node:crypto";
import { createRequire } from "node:module";
import { createFakeContext } from "@svc/sdk/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { forgeHooks } from "../../plugins/features/forge-hooks/index.ts";
import { type Stage, setStage } from "./forge-b-adapter.harness.ts";

const SECRET = "a-long-hook-secret";
const RECORDED = createRequire(import.meta.url)("@octokit/webhooks-examples") as readonly { readonly name: string; readonly examples: readonly object[] }[];

let stage: Stage;
let send: (event: string, payload: unknown, headers?: Record<string, string>) => Promise<number>;
beforeAll(async () => {
  stage = await setStage();
  const plugin = forgeHooks({ port: 0, lagMs: 0 });
  const context = createFakeContext(plugin as never, { config: {}, agents: [{ id: "helper" }], fetch: createFetch() });
  plugin.setup(context as never);
  const forges = (
    context as unknown as { registered: { services: { name: string; api: { connect(forge: unknown): Promise<unknown> } }[] } }
  ).registered.services.find(({ name }) => name === "forges");
  await forges?.api.connect(stage.forge);
  send = async (event, payload, headers = {}) => {
    const raw = Buffer.from(JSON.stringify(payload));
    const { status } = await context.request("POST", "/webhook/forge_b", {
      headers: {
        "x-github-event": event,
        "x-github-delivery": "g",
        "content-type": "application/json",
        "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(raw).digest("hex")}`,
        ...headers,
      },
      raw,
    });
    return status;
  };
});
afterAll(() => stage.close());

describe("recorded payloads of the forge", () => {
  it("are 329, and reviews among them", () => {
    expect(RECORDED.reduce((sum, { examples }) => sum + examples.length, 0)).toBe(329);
  });

  it.each(RECORDED.map(({ name, examples }) => ({ name, examples })))("$name: each is taken or rightly left", async ({ name, examples }) => {
    const statuses = await Promise.all(examples.map((payload) => send(name, payload)));
    for (const status of statuses) expect([202, 204]).toContain(status);
  });

  it("tell of their notes", () => {
    const kinds = RECORDED.flatMap(({ name, examples }) =>
      examples.flatMap((payload) => {
        const event = stage.forge.read({ "x-github-event": name }, payload);
        return event.kind === "notes"
          ? event.notes.map(({ kind, place, author, url, createdAt }) => [
              kind,
              place.id !== "" && author.login !== "" && url.startsWith("https://") && createdAt > 0,
            ])
          : [event.kind === "deleted" ? ["deleted", true] : []];
      }),
    );
    const told = kinds.filter((one) => one.length > 0);
    expect(told.every(([, whole]) => whole)).toBe(true);
    expect([...new Set(told.map(([kind]) => kind))].sort()).toEqual(["commit-note", "deleted", "description", "note", "review", "review-note"]);
  });

  it("an edited review, of which there is no record", async () => {
    const review = RECORDED.find(({ name }) => name === "pull_request_review")?.examples[0] as { review: object };
    const payload = { ...review, action: "edited", changes: { body: { from: "before" } } };
    expect(await send("pull_request_review", payload)).toBe(202);
    expect(stage.forge.read({ "x-github-event": "pull_request_review" }, payload)).toMatchObject({
      notes: [{ kind: "review", edited: true, previousText: "before" }],
    });
  });

  it.each([
    ["nothing", null],
    ["a list", []],
    ["a comment without an author's words", { action: "created", comment: { id: 1 }, issue: { id: 1 } }],
    ["deeply wrong types", { action: { a: 1 }, comment: "x", repository: 7, sender: [] }],
    ["a repository that is a list", { action: "created", comment: { id: 1, body: {}, user: [] }, issue: { id: 2, number: "x" }, repository: [{ id: 1 }] }],
  ])("HOOK-06 FAULT-41 what the forge never sends is a named 4xx: %s", async (_what, payload) => {
    const status = await send("issue_comment", payload);
    expect([202, 204, 400]).toContain(status);
    expect(status).not.toBe(202);
  });

  it("HOOK-06 FAULT-40 only the newer signature counts", async () => {
    const raw = JSON.stringify({ zen: "words" });
    expect(await send("ping", { zen: "words" })).toBe(204);
    const sha1 = `sha1=${createHmac("sha1", SECRET).update(raw).digest("hex")}`;
    expect(await send("ping", { zen: "words" }, { "x-hub-signature-256": "", "x-hub-signature": sha1 })).toBe(401);
    expect(await send("ping", { zen: "words" }, { "x-hub-signature-256": `sha256=${"0".repeat(64)}` })).toBe(401);
    expect(await send("ping", { zen: "words" }, { "x-forge-signature-256": `sha256=${"0".repeat(64)}` })).toBe(401);
  });
});
