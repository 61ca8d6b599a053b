import { codeOf, reasonOf } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { ChannelStatus } from "../core/boot/status-port.ts";
import { call } from "../core/host/call.ts";
import type { Live } from "../core/host/live.ts";

/** Timeout of a platform's test, in milliseconds. */
const TEST_MS = 15_000;

/** Every channel that a running plugin provides, by name. `unsent` answers with the deliveries of a channel that wait in the outbox. */
export function channelsOf(live: Live, unsent: (channel: string) => Promise<number>): Promise<ChannelStatus[]> {
  const provided = [...live.channels.values()].sort((left, right) => (left.thing.name < right.thing.name ? -1 : 1));
  return Promise.all(
    provided.map(async ({ scope, thing: channel, state, reason }) => ({
      name: channel.name,
      plugin: scope.id,
      state,
      ...(reason === undefined ? {} : { reason }),
      traits: channel.traits,
      testable: channel.test !== undefined,
      unsent: await unsent(channel.name),
    })),
  );
}

/**
 * Calls the channel's test, within 15 seconds, and resolves with the plugin's text. Throws `SVC_CHANNEL_UNKNOWN`, `SVC_CHANNEL_UNTESTABLE`,
 * `SVC_PLUGIN_TIMEOUT`, and `SVC_CHANNEL_TEST` with the platform's message.
 */
export async function testChannelOf(name: string, live: Live, signal: AbortSignal): Promise<string> {
  const provided = live.channels.get(name);
  if (provided === undefined) throw fail("SVC_CHANNEL_UNKNOWN", { channel: name });
  const { scope, thing: channel } = provided;
  const { test } = channel;
  if (test === undefined) throw fail("SVC_CHANNEL_UNTESTABLE", { channel: name, plugin: scope.id });
  try {
    return await call<[], string>({ scope, what: `channel ${name} test`, limitMs: TEST_MS, run: (handle) => test.call(channel, handle.signal) }, [], signal);
  } catch (error) {
    if (codeOf(error) === "SVC_PLUGIN_TIMEOUT") throw error;
    throw fail("SVC_CHANNEL_TEST", { channel: name, reason: reasonOf(error) });
  }
}
