import { definePlugin } from "@svc/sdk";
import { receiverRoute } from "./receiver.ts";
import { checkTriage, TRIAGE, type TriageSettings } from "./settings.ts";
import { Triage } from "./triage.ts";

const LISTEN_MS = 60_000;
const SWEEP_MS = 3_600_000;
const WARN_MS = 60_000;

/** Watched phone chats (001:L132): an agent sorts messages that an external sync tool posts, and people decide about answers. */
export default definePlugin<TriageSettings>({
  kind: "feature",
  name: "phone-triage",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "phoneTriage", schema: TRIAGE, check: checkTriage },
  capabilities: ["agents", "env:*", "files", "jobs", "routes", "services", "spawn", "store", "tasks"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let settings = ctx.config;
    const triage = new Triage(ctx, () => settings);
    let warned = Number.NEGATIVE_INFINITY;
    const secret = () => ctx.env(settings.secretEnv);
    ctx.provide.route(
      receiverRoute({
        secret,
        triage,
        refused(reason, address) {
          if (performance.now() - warned < WARN_MS) return;
          warned = performance.now();
          ctx.log.warn({ reason, address }, "a message of the sync tool was refused");
        },
      }),
    );
    const warn = () => {
      if (!secret()) ctx.log.warn("the variable that phoneTriage.secretEnv names is not set: every message of the sync tool is refused");
    };

    return {
      async start() {
        warn();
        triage.start();
        ctx.jobs.every(LISTEN_MS, () => triage.listen());
        ctx.jobs.every(SWEEP_MS, () => triage.sweep());
      },
      async reload(next) {
        settings = next;
        warn();
      },
      stop: () => triage.stop(),
    };
  },
});
