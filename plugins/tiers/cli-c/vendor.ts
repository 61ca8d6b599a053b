import { readFileSync } from "node:fs";
import { type KeyRelays, proxyFor } from "@svc/sdk/engine";
import type { Launch } from "./environment.ts";
import type { AgentSettings } from "./settings.ts";

const API = "https://generativelanguage.googleapis.com";
const KEY = "GEMINI_API_KEY";
const PATHS = ["/v1beta", "/v1", "/v1alpha"];

/**
 * The launch with a token of the daemon's relay in the place of its API key: what the model's commands and tool servers read there is
 * worth nothing elsewhere. As it is for a run on the shared sign-in, and with the key of another vendor.
 */
export async function withoutKey(keys: Pick<KeyRelays, "relayFor">, { billing }: Pick<AgentSettings, "billing">, launch: Launch): Promise<Launch> {
  const { env } = launch;
  const key = env[KEY];
  const base = env.GOOGLE_GEMINI_BASE_URL ?? API;
  if (billing !== "api" || !key || env.GOOGLE_API_KEY || !URL.canParse(base)) return launch;
  const proxy = proxyFor(base, env);
  const { port, token } = await keys.relayFor({
    base,
    paths: PATHS,
    headers: { "x-goog-api-key": key },
    without: ["x-goog-api-key", "authorization", "cookie"],
    ...(proxy === undefined ? {} : { proxy }),
    ...(env.NODE_EXTRA_CA_CERTS === undefined ? {} : { ca: readFileSync(env.NODE_EXTRA_CA_CERTS, "utf8") }),
  });
  const spared = [env.NO_PROXY, "127.0.0.1"].filter(Boolean).join(",");
  return { ...launch, env: { ...env, [KEY]: token, GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}`, NO_PROXY: spared } };
}
