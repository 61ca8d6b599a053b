import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Forge, ForgeCaller, ForgeNote, StreamingFetch } from "@svc/sdk";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createApi } from "../../plugins/channels/forge-b/api.ts";
import { createForge } from "../../plugins/channels/forge-b/forge.ts";
import { createIdentities, type Identities } from "../../plugins/channels/forge-b/identity.ts";
import type { Settings } from "../../plugins/channels/forge-b/settings.ts";
import { type ForgeBOptions, type ForgeBServer, startForgeB } from "../kit/forge-b/server.ts";
import { temporaryFolder } from "../kit/kernel.ts";

export const SECRET = "a-long-hook-secret";
export const AS: ForgeCaller = { agent: "helper" };

/** The adapter, connected with the far end by the daemon's own fetch. */
export interface Stage {
  readonly far: ForgeBServer;
  readonly forge: Forge;
  readonly identities: Identities;
  readonly refused: readonly string[];
  readonly signal: AbortSignal;
  /** The note that the newest delivery tells of. */
  newest(): ForgeNote;
  close(): Promise<void>;
}

export interface StageOptions extends ForgeBOptions {
  readonly settings?: Partial<Settings>;
  readonly app?: boolean;
  readonly private?: boolean;
  readonly fetch?: (real: StreamingFetch) => StreamingFetch;
}

export async function setStage({ settings, app = false, private: closed = true, fetch: wrap = (real) => real, ...options }: StageOptions = {}): Promise<Stage> {
  const far = await startForgeB(options);
  for (const login of ["ann", "bob", "eve", "helper-bot"]) far.addUser(login);
  far.addToken("ghp_helper", "helper-bot");
  far.addProject("acme/app", { private: closed, members: { ann: "write", bob: "report", "helper-bot": "write" }, labels: ["bug", "Later"] });
  // Deliveries are read from the log; nobody listens.
  far.hooks.hold();
  far.hooks.add("http://127.0.0.1:9/hook", SECRET);
  let own: Partial<Settings> = { token: "ghp_helper" };
  if (app) {
    far.install(["acme/app"]);
    const file = join(await temporaryFolder(), "key.pem");
    await writeFile(file, far.app.privateKey);
    own = { clientId: far.app.clientId, privateKeyFile: file };
  }
  const all: Settings = { enabled: true, webhookSecret: SECRET, routes: [{ repo: "*", agent: "helper" }], ...own, ...settings };
  const api = createApi({ fetch: wrap(createFetch()) }, all.apiRoot ?? far.url);
  const refused: string[] = [];
  const identities = await createIdentities(
    all,
    () => api,
    (_name, reason) => void refused.push(reason),
  );
  const signal = AbortSignal.timeout(60_000);
  for (const identity of identities.all) await identity.identify(api, signal);
  const forge = createForge(all, api, identities);
  return {
    far,
    forge,
    identities,
    refused,
    signal,
    newest() {
      const delivery = far.hooks.deliveries.at(-1);
      if (delivery === undefined) throw new Error("nothing was delivered");
      const event = forge.read(delivery.headers, JSON.parse(delivery.body));
      if (event.kind !== "notes") throw new Error(`the newest delivery is ${JSON.stringify(event)}`);
      return event.notes[0] as ForgeNote;
    },
    close: () => far.close(),
  };
}
