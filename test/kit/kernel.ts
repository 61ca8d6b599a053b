import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createKernel, type Kernel, type KernelOptions } from "@svc/kernel";
import type { Envelope, Message, Plugin } from "@svc/sdk";
import { afterEach } from "vitest";
import { type Scripted, scriptedTier } from "./scripted.ts";
import { testStore } from "./test-store.ts";

const open: Kernel[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const kernel of open.splice(0)) await kernel.stop({ drainSeconds: 0 });
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A folder that goes when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-test-"));
  folders.push(folder);
  return folder;
}

/** A running kernel with one agent `a` on a scripted tier. */
export interface Running {
  readonly kernel: Kernel;
  readonly tier: Scripted;
  readonly events: Envelope[];
  message(text: string, extra?: Partial<Message>): Message;
}

export interface RunOptions extends Partial<Omit<KernelOptions, "config">> {
  readonly agent?: Record<string, unknown>;
  readonly config?: Record<string, unknown>;
  readonly inline?: readonly Plugin<never>[];
  readonly tier?: Scripted;
  /** The configuration is written there and read from there: `kernel.reload` reads it anew. */
  readonly file?: string;
  /** It outlives the test: who asks for that stops it, and has given it a `folder`. */
  readonly lasts?: boolean;
}

/** What `runKernel` configures: for a test that changes it. */
export const configOf = (agent: Record<string, unknown> = {}, config: Record<string, unknown> = {}) => ({
  node: { id: "n1", name: "Node 1", defaultAgent: "a", bind: "127.0.0.1:0" },
  agents: { a: { name: "A", workspace: "./w", tier: "scripted", ...agent } },
  ...config,
});

/** Started and ready; stopped after the test. */
export async function runKernel({ agent = {}, config = {}, inline = [], tier = scriptedTier(), file, lasts, ...options }: RunOptions = {}): Promise<Running> {
  const { section, known } = options.store === undefined ? testStore(options.dataFolder ?? (file && join(options.folder ?? dirname(file), ".svc"))) : {};
  const written = { ...section, ...configOf(agent, config) };
  if (file !== undefined) await writeFile(file, JSON.stringify(written));
  // Where no file says where, the agents' folders would be made in the one that the tests run in.
  const folder = options.folder ?? (file === undefined ? await temporaryFolder() : undefined);
  const kernel = await createKernel({
    config: file ?? written,
    plugins: [tier.plugin as Plugin<never>, ...inline],
    ...options,
    ...(folder === undefined ? {} : { folder }),
    ...(known === undefined ? {} : { known: [...(options.known ?? []), ...known] }),
  });
  const events: Envelope[] = [];
  kernel.bus.subscribe((envelope) => events.push(envelope));
  await kernel.start();
  if (lasts !== true) open.push(kernel);
  return { kernel, tier, events, message: (text, extra = {}) => ({ entry: "task", channel: "http", chat: "c1", text, agent: "a", ...extra }) };
}

/** The kernel's HTTP address. */
export const baseOf = (kernel: Kernel): string => `http://127.0.0.1:${kernel.address?.port}`;

/** POST JSON and take the answer. */
export async function post(
  base: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(base + path, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
