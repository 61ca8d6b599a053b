import { definePlugin, type Inbound, type Route } from "@svc/sdk";
import type { Matcher } from "./matcher.ts";
import { checkServices, SERVICES, type ServiceSettings, type ServicesSettings } from "./settings.ts";

/**
 * Entries of people and programs outside. Not jobs, check-ins and agents that call each other: those address an agent explicitly. Not the public API
 * either: its tokens admit to one agent each.
 */
const ENTRIES: ReadonlySet<string> = new Set(["channel", "task", "ask"]);

/** Before other routes: a service replaces the normal way of a message. */
const STAGE = -100;

/** Trigger services (001:L166-168): a message that matches a pattern starts an agent with a fixed prompt. */
export default definePlugin<ServicesSettings>({
  kind: "feature",
  name: "services",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "services", schema: SERVICES, check: checkServices },
  capabilities: [],
  setup(ctx) {
    let services = ctx.config;
    let matcher: Matcher | undefined;
    /** The engine comes with the first message. */
    async function compiled(): Promise<Matcher> {
      const { createMatcher } = await import("./matcher.js");
      return (matcher ??= createMatcher(services));
    }
    ctx.hooks.route.tap(
      (message) => {
        if (!ENTRIES.has(message.entry)) return undefined;
        const answer = (matches: Matcher) => {
          const service = matches(message);
          return service && routeTo(service, message);
        };
        return matcher === undefined ? compiled().then(answer) : answer(matcher);
      },
      { stage: STAGE },
    );
    return {
      async reload(next) {
        services = next;
        matcher = undefined;
      },
    };
  },
});

/** To the service's agent, in its conversation with that chat; the answer goes where the message came from. */
function routeTo({ agent, prompt }: ServiceSettings, { entry, channel, chat, account, thread, platformId }: Inbound): Route {
  return {
    agent,
    text: prompt,
    conversation: [agent, channel, account ?? "", chat, ...(thread === undefined ? [] : [thread])].join(":"),
    reply: {
      // `task` and `ask` answer their caller.
      channel: entry === "channel" ? channel : "http",
      chat,
      ...(account === undefined ? {} : { account }),
      ...(thread === undefined ? {} : { thread }),
      ...(platformId === undefined ? {} : { replyTo: platformId }),
    },
  };
}
