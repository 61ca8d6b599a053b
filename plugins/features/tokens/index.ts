import { codeOf, definePlugin, type PluginContext } from "@svc/sdk";
import { adminRoutes } from "./admin-routes.ts";
import { createTokenAuthority } from "./authority.ts";
import { createLastUsed } from "./last-used.ts";
import type { Token } from "./token.ts";
import { openTokenFile, type TokenFile } from "./token-file.ts";

const FLUSH_MS = 5_000;
/** Delay until a change of a token on another daemon takes effect here. */
const SHARE_MS = 250;

export default definePlugin({
  kind: "feature",
  name: "tokens",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["data-folder", "files", "events", "jobs", "routes", "settings", "all-settings", "store"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    const file = openTokenFile(ctx.files.data);
    const flush = () => lastUsed.flush().catch((error) => ctx.log.warn({ err: error }, "the last use of tokens could not be written"));
    const lastUsed = createLastUsed(file, () => void ctx.jobs.after(FLUSH_MS, () => void flush()));
    const corrupt = setAside(ctx, file);
    for (const route of adminRoutes(file, ctx.settings)) ctx.provide.route(route);
    ctx.provide.authority(createTokenAuthority({ file, used: lastUsed.note, corrupt }));
    return {
      async start() {
        closeToOthers(ctx, file);
        try {
          file.read();
        } catch (error) {
          if (codeOf(error) !== "SVC_TOKENS_CORRUPT") throw error;
          corrupt();
        }
        if (ctx.store.shared === true) await share(ctx, file);
      },
      stop: flush,
    };
  },
});

/** Several daemons use the store: their tokens are the same. */
async function share(ctx: PluginContext, file: TokenFile): Promise<void> {
  const { createSharedTokens } = await import("./shared-tokens.js");
  const look = createSharedTokens(ctx.store.collection<Token>("tokens"), file);
  let told = false;
  const again = async () => {
    try {
      await look();
      told = false;
    } catch (error) {
      // A damaged file is set aside when it is used next.
      if (!told) ctx.log.warn({ err: error }, "the tokens of the other daemons are not known here; tried again until they are");
      told = true;
    }
  };
  await again();
  ctx.jobs.every(SHARE_MS, again);
}

/** Moves a damaged file out of the way, once at a time, and reports it (FAULT-14): an older file is never restored. */
function setAside(ctx: PluginContext, file: TokenFile): () => void {
  let moving = false;
  return () => {
    if (moving) return;
    moving = true;
    file
      .change(() => undefined)
      .then((copy) => {
        if (copy === undefined) return;
        const summary = `tokens.json was damaged and is now ${copy}: every token is refused, make new ones with svc token create`;
        ctx.log.error({ copy }, summary);
        ctx.events.publish({ kind: "status", type: "tokens:corrupt", summary, data: { copy } });
      })
      .catch((error) => ctx.log.error({ err: error }, "tokens.json is damaged and could not be moved: every token is refused"))
      .finally(() => {
        moving = false;
      });
  };
}

function closeToOthers(ctx: PluginContext, file: TokenFile): void {
  const mode = file.closeToOthers();
  if (mode !== undefined) ctx.log.warn({ mode: mode.toString(8) }, "tokens.json was open to other users of this machine; it is not any more");
}
