import { type Log, withTimeout } from "@svc/sdk";
import { isRefused } from "./failure.ts";
import type { WebApi } from "./web-api.ts";
import type { Names } from "./words.ts";

/** The names of people, asked for once each. */
export interface People {
  readonly names: Names;
  /** The workspace of a person. */
  teamOf(id: string): string | undefined;
  /** Resolves soon, whether or not the platform tells: without a name the id stands. */
  learn(ids: readonly string[]): Promise<void>;
}

const MOST = 1_000;
const AGAIN_MS = 3_600_000;
const WAIT_MS = 2_000;

interface Known {
  readonly name?: string;
  readonly team?: string;
  readonly until: number;
}

/** Makes the list of names of one workspace. */
export function createPeople(api: WebApi, log: Log, signal: AbortSignal): People {
  const known = new Map<string, Known>();
  const asking = new Map<string, Promise<void>>();
  let allowed = true;

  async function ask(id: string): Promise<void> {
    let name: string | undefined;
    let team: string | undefined;
    try {
      const { user } = await api.call<{
        user?: { team_id?: string; name?: string; real_name?: string; profile?: { display_name?: string; real_name?: string } };
      }>("users.info", { user: id }, { signal });
      team = user?.team_id;
      name = [user?.profile?.display_name, user?.profile?.real_name, user?.real_name, user?.name].find((one) => one !== undefined && one !== "");
    } catch (error) {
      if (isRefused(error, "missing_scope") && allowed) {
        allowed = false;
        log.warn({}, "people are called by their ids: the app lacks the scope users:read");
      }
    }
    known.set(id, { ...(name === undefined ? {} : { name }), ...(team === undefined ? {} : { team }), until: Date.now() + AGAIN_MS });
    if (known.size > MOST) known.delete(known.keys().next().value as string);
  }

  return {
    names: (id) => known.get(id)?.name,
    teamOf: (id) => known.get(id)?.team,
    async learn(ids) {
      if (!allowed) return;
      const missing = ids.filter((id) => /^[UW][A-Z0-9]+$/.test(id) && (known.get(id)?.until ?? 0) < Date.now());
      if (missing.length === 0) return;
      const asked = missing.map((id) => {
        const before = asking.get(id) ?? ask(id).finally(() => asking.delete(id));
        asking.set(id, before);
        return before;
      });
      await withTimeout(Promise.all(asked), WAIT_MS, () => undefined, signal);
    },
  };
}
