import { reasonOf } from "@svc/sdk";
import { SCOPES } from "./app-manifest.ts";
import { isLockedOut, refusalIn, wordsOf } from "./failure.ts";
import { checkAppToken } from "./socket.ts";
import type { WebApi } from "./web-api.ts";

/** The platform's verdict on a pair of tokens. */
export interface Checked {
  /** Our account there; undefined if the platform does not name it. */
  readonly who?: string;
  readonly team?: string;
  /** Missing permissions, each as a sentence with the next step. */
  readonly problems: readonly string[];
}

/** Asks the platform about both tokens: who we are, whether the scopes are there, and whether socket mode may be used. */
export async function checkWorkspace(api: WebApi, appToken: string, signal: AbortSignal): Promise<Checked> {
  const [bot, app] = await Promise.all([checkBot(api, signal), checkApp(api, appToken, signal)]);
  return { ...bot, problems: [...bot.problems, ...(app === undefined ? [] : [app])] };
}

async function checkBot(api: WebApi, signal: AbortSignal): Promise<Checked> {
  try {
    const { user, team, team_id, scopes } = await api.call<{ user?: string; team?: string; team_id?: string }>("auth.test", {}, { signal });
    const missing = scopes === undefined ? [] : Object.keys(SCOPES).filter((scope) => !scopes.includes(scope));
    const words = missing.map((scope) => `${scope} (without it: it ${SCOPES[scope]})`);
    return {
      who: `@${user ?? "?"} in ${team ?? team_id ?? "?"}`,
      ...(team_id === undefined ? {} : { team: team_id }),
      problems:
        missing.length === 0
          ? []
          : [
              `the app lacks the ${missing.length === 1 ? "scope" : "scopes"} ${words.join(", ")}: add what is needed on the app's page OAuth & Permissions, and install the app again`,
            ],
    };
  } catch (error) {
    const refusal = refusalIn(error);
    const words = refusal === undefined ? reasonOf(error) : wordsOf(refusal);
    return { problems: [isLockedOut(error) ? `botToken: ${words}` : words] };
  }
}

async function checkApp(api: WebApi, appToken: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await checkAppToken(api, appToken, signal);
  } catch (error) {
    return reasonOf(error);
  }
}
