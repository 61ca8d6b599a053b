import { definePlugin } from "@svc/sdk";
import type { Direct, Notices } from "./notices.ts";
import { NOTIFICATIONS, type NotificationSection, settingsOf, targetOf } from "./settings.ts";

const line = { type: "string", minLength: 1, maxLength: 200 } as const;

/** The body of `POST /notify`. */
const BODY = {
  type: "object",
  additionalProperties: false,
  required: ["text"],
  properties: {
    text: { type: "string", minLength: 1, maxLength: 20_000 },
    title: line,
    channel: line,
    chat: line,
    account: line,
    priority: { type: "integer", minimum: 1, maximum: 5 },
  },
} as const;

export default definePlugin<NotificationSection>({
  kind: "feature",
  name: "notifications",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "notifications", schema: NOTIFICATIONS },
  capabilities: [
    "env:DBUS_SESSION_BUS_ADDRESS",
    "env:DISPLAY",
    "env:WAYLAND_DISPLAY",
    "env:XDG_RUNTIME_DIR",
    "events",
    "jobs",
    "routes",
    "spawn",
    "store",
    "tasks",
  ],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let settings = settingsOf(ctx.config);
    let opened: Promise<Notices> | undefined;
    const open = (): Promise<Notices> => {
      opened ??= import("./notices.js")
        .then(({ openNotices }) => openNotices(ctx, () => settings))
        .catch((error) => {
          opened = undefined;
          throw error;
        });
      return opened;
    };
    ctx.provide.service("notifier", {
      notify: async (notice) => (await open()).notify(notice),
      destination: () => settings.destination && targetOf(settings.destination),
    });
    ctx.provide.route({
      method: "POST",
      path: "/notify",
      guard: "loopback",
      body: BODY,
      handle: async ({ body }) => (await open()).send(body as Direct),
    });
    return {
      async start() {
        await open();
      },
      async reload(next) {
        settings = settingsOf(next);
      },
    };
  },
});
