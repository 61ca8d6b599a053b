import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type A2aStage, openA2a } from "../kit/a2a.ts";

/** What both generations of the vendor's client have, as far as it is used here. */
interface Client {
  sendMessage(request: object): Promise<Record<string, unknown>>;
  sendMessageStream(request: object): AsyncIterable<Record<string, unknown>>;
  getTask(request: object): Promise<Record<string, unknown>>;
}

const entryOf = (name: string) => join(import.meta.dirname, `node_modules/${name}/dist/client/index.js`);
const missing = ["a2a-sdk-0.3", "a2a-sdk-1"].filter((name) => !existsSync(entryOf(name)));
if (missing.length > 0) console.warn(`skipped: ${missing.join(", ")} of @a2a-js/sdk is missing; run \`npm run test:peers\` where the registry can be reached`);

const TEXT = "one two three four five six seven eight nine ten";
let stage: A2aStage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

describe.skipIf(missing.length > 0)("svc a2a, called by the vendor's own clients", () => {
  it("@a2a-js/sdk 0.3 finds the card, sends, and sees the answer grow", async () => {
    stage = await openA2a();
    const { ClientFactory } = (await import(entryOf("a2a-sdk-0.3"))) as { ClientFactory: new () => { createFromUrl(url: string): Promise<Client> } };
    const client = await new ClientFactory().createFromUrl(stage.url);
    const message = { kind: "message", role: "user", messageId: "m1", parts: [{ kind: "text", text: TEXT }] };
    const sent = await client.sendMessage({ message });
    expect(sent).toMatchObject({ kind: "task", status: { state: "completed" }, artifacts: [{ parts: [{ kind: "text", text: TEXT }] }] });
    const seen: Record<string, unknown>[] = [];
    for await (const event of client.sendMessageStream({ message: { ...message, messageId: "m2" } })) seen.push(event);
    expect(seen[0]).toMatchObject({ kind: "task" });
    expect(seen.filter(({ kind }) => kind === "artifact-update").length).toBeGreaterThanOrEqual(10);
    expect(seen.at(-1)).toMatchObject({ kind: "status-update", final: true, status: { state: "completed" } });
    await expect(client.getTask({ id: String(sent["id"]) })).resolves.toMatchObject({ id: sent["id"], status: { state: "completed" } });
  });

  it("@a2a-js/sdk 1.3 finds the card, sends, and sees the answer grow", async () => {
    stage = await openA2a();
    const { ClientFactory } = (await import(entryOf("a2a-sdk-1"))) as { ClientFactory: new () => { createFromUrl(url: string): Promise<Client> } };
    const client = await new ClientFactory().createFromUrl(stage.url);
    const message = { role: 1, messageId: "m1", parts: [{ content: { $case: "text", value: TEXT } }] };
    const sent = await client.sendMessage({ message });
    expect(JSON.stringify(sent)).toContain(TEXT);
    const seen: Record<string, unknown>[] = [];
    for await (const event of client.sendMessageStream({ message: { ...message, messageId: "m2" } })) seen.push(event);
    expect(seen.length).toBeGreaterThanOrEqual(12);
    expect(JSON.stringify(seen[0])).toContain('"task"');
    expect(JSON.stringify(seen.at(-1))).toContain("statusUpdate");
    await expect(client.getTask({ id: "nobody" })).rejects.toThrow();
  });
});
