import { setTimeout as pause } from "node:timers/promises";
import type { ChannelStatus, Health } from "@svc/kernel";
import type { Cli } from "../cli.ts";
import type { Form } from "./form.ts";

/** Timeout of a channel's connection, in milliseconds. */
const CONNECT_MS = 30_000;
const LOOK_MS = 150;

/** Result of connecting a channel: our account there, or why it is not connected. */
export type Outcome = { readonly ok: true; readonly detail: string } | { readonly ok: false; readonly reason: string };

/** Waits until the channel has connected or failed, and then tests it with the platform. */
export async function outcomeOf(cli: Cli, { channel, plugin }: Pick<Form, "channel" | "plugin">): Promise<Outcome> {
  let status: ChannelStatus | undefined;
  for (let waited = 0; waited < CONNECT_MS; waited += LOOK_MS) {
    const { channels } = (await cli.request("GET", "/channels")) as { channels: ChannelStatus[] };
    status = channels.find(({ name }) => name === channel);
    if (status?.state !== "connecting") break;
    await pause(LOOK_MS);
  }
  if (status === undefined) return { ok: false, reason: await whyMissing(cli, plugin) };
  if (status.state !== "ready") return { ok: false, reason: status.reason ?? `it has not connected within ${CONNECT_MS / 1000} s` };
  if (!status.testable) return { ok: true, detail: "connected" };
  try {
    return { ok: true, detail: ((await cli.request("POST", `/channels/${encodeURIComponent(channel)}/test`)) as { detail: string }).detail };
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  }
}

async function whyMissing(cli: Cli, plugin: string): Promise<string> {
  const { plugins } = (await cli.request("GET", "/health")) as Health;
  return plugins.find(({ id }) => id === plugin)?.reason ?? "the daemon has not loaded it";
}
