import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { ForgeNote } from "@svc/sdk";
import { createEmulator } from "emulate";
import { afterEach, describe, expect, it } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createApi } from "../../plugins/channels/forge-b/api.ts";
import { createForge } from "../../plugins/channels/forge-b/forge.ts";
import { createIdentities } from "../../plugins/channels/forge-b/identity.ts";
import { temporaryFolder } from "../kit/kernel.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Somebody else's idea of the same API: no reactions, no replies, no lists of all comments. */
async function stage(app: boolean) {
  const got: { event: string; body: unknown }[] = [];
  const receiver = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    got.push({ event: String(request.headers["x-github-event"]), body: JSON.parse(body) });
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  closing.push(() => receiver.close());
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const far = await createEmulator({
    service: "github",
    port: 0,
    seed: {
      tokens: { ghp_helper: { login: "helper", scopes: ["repo"] }, ghp_ann: { login: "ann", scopes: ["repo"] } },
      github: {
        users: [{ login: "ann" }, { login: "helper" }],
        repos: [{ owner: "ann", name: "app", private: false }],
        apps: [
          {
            app_id: 12_345,
            slug: "my-app",
            name: "My App",
            permissions: { issues: "write", pull_requests: "write", metadata: "read" },
            events: ["issues", "issue_comment"],
            webhook_url: hook,
            installations: [{ installation_id: 100, account: "ann", repository_selection: "all" }],
          },
        ],
      },
    },
  });
  closing.push(() => far.close());
  const url = far.url.replace("localhost", "127.0.0.1");
  const privateKeyFile = join(await temporaryFolder(), "key.pem");
  await writeFile(privateKeyFile, far.generatedSecrets.find(({ kind }) => kind === "github.app_private_key")?.value ?? "");
  const settings = { routes: [{ repo: "*", agent: "helper" }], ...(app ? { appId: 12_345, privateKeyFile } : { token: "ghp_helper" }) };
  const api = createApi({ fetch: createFetch() }, url);
  const identities = await createIdentities(
    settings,
    () => api,
    () => {},
  );
  const signal = AbortSignal.timeout(60_000);
  for (const identity of identities.all) await identity.identify(api, signal);
  const forge = createForge(settings, api, identities);
  const write = async (path: string, body: object) =>
    (
      await fetch(url + path, {
        method: "POST",
        headers: { authorization: "Bearer ghp_ann", "content-type": "application/json", "user-agent": "any" },
        body: JSON.stringify(body),
      })
    ).json() as Promise<{ number: number; body: string; user: { login: string } }>;
  const list = async (path: string) =>
    (await (await fetch(url + path, { headers: { authorization: "Bearer ghp_ann", "user-agent": "any" } })).json()) as {
      body: string;
      user: { login: string };
    }[];
  return { forge, identities, signal, got, write, list };
}

describe.each([{ app: false }, { app: true }])("a second far end of forge_b (App $app)", ({ app }) => {
  it("tells of a comment, takes the answer, its edit and the question for the right", async () => {
    const { forge, identities, signal, got, write, list } = await stage(app);
    expect(identities.agents({ path: "ann/app" })[0]?.names).toEqual([app ? "my-app" : "helper"]);
    const issue = await write("/repos/ann/app/issues", { title: "It breaks" });
    await write(`/repos/ann/app/issues/${issue.number}/comments`, { body: "@helper fix" });
    const told = () => got.find(({ event }) => event === "issue_comment");
    while (told() === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
    const event = forge.read({ "x-github-event": "issue_comment" }, told()?.body);
    const note = (event.kind === "notes" ? event.notes[0] : undefined) as ForgeNote;
    expect(note).toMatchObject({
      kind: "note",
      text: "@helper fix",
      author: { login: "ann" },
      place: { kind: "issue", id: String(issue.number), project: { path: "ann/app" } },
    });
    const as = { agent: "helper" };
    expect(await forge.right(note.place.project, note.author, as, signal)).toBe("write");
    const { id } = await forge.post(note.place, "an answer", as, { reply: note }, signal);
    await forge.edit(note.place, id, "a better answer", as, signal);
    expect((await list(`/repos/ann/app/issues/${issue.number}/comments`)).map(({ body, user }) => [user.login, body])).toEqual([
      ["ann", "@helper fix"],
      [app ? "my-app[bot]" : "helper", "a better answer"],
    ]);
    expect((await forge.comments(note.place, note.createdAt - 120_000, as, signal)).map(({ text }) => text)).toEqual(["@helper fix", "a better answer"]);
    // It has no reactions: an eye that fails is told, and stops nothing else.
    await expect(forge.eye(note.place, note, as, signal)).rejects.toMatchObject({ failure: "permanent" });
  });
});
