import type { HttpRoute, PairingRequest, PluginContext } from "@svc/sdk";
import type { Pairing, Waiting } from "./pairing.ts";

const CODE = {
  type: "object",
  required: ["code"],
  additionalProperties: false,
  properties: { code: { type: "string", minLength: 1, maxLength: 64, description: "the code that the bot gave to the person" } },
} as const;

const requestOf = ({ account, sender, name, chat, at }: Waiting): PairingRequest => ({
  account,
  sender,
  ...(name === undefined ? {} : { name }),
  chat,
  at: new Date(at).toISOString(),
});

/** Routes that list waiting people and confirm them: for `svc channel pair`, and for people in a browser. */
export function pairRoutes(
  { tasks }: Pick<PluginContext, "tasks">,
  pairing: Pairing,
): { readonly local: readonly HttpRoute[]; readonly page: readonly HttpRoute[] } {
  const list = async () => ({ waiting: (await pairing.waiting()).map(requestOf) });
  const confirm = async ({ body }: { readonly body?: unknown }) => {
    const found = await pairing.approve((body as { code: string }).code);
    const { account, chat } = found;
    await tasks.deliver({ kind: "notice", target: { channel: "botmsg", account, chat }, text: "You are confirmed. Please send your message again." });
    return requestOf(found);
  };
  const both = (at: Pick<HttpRoute, "guard" | "path" | "server" | "forPeople">): readonly HttpRoute[] => [
    { ...at, method: "GET", handle: list },
    { ...at, method: "POST", body: CODE, handle: confirm },
  ];
  return {
    // Not for an agent that the daemon has started, nor for a token that may only read: neither may let a person in.
    local: both({ path: "/channels/botmsg/pair", guard: "loopback", forPeople: true }),
    page: both({ server: "dashboard", path: "/api/channels/botmsg/people", guard: "scope:dashboard:write", forPeople: true }),
  };
}
