import { type Forge, type ForgeProject, type ForgeRight, type ForgeUser, type Log, reasonOf } from "@svc/sdk";

const RIGHT_MS = 60_000;
const BOT_MS = 24 * 3_600_000;
const CALL_MS = 20_000;
const REMEMBERED = 5_000;

interface Known<T> {
  readonly value: T;
  readonly until: number;
}

/** Standing of users at a forge: a bot or a person, and a person's rights. Requested from the forge, and cached. */
export class Standing {
  readonly #log: Log;
  readonly #rights = new Map<string, Known<ForgeRight>>();
  readonly #bots = new Map<string, Known<boolean>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * An unknown right counts as `report`: a user who may write gets a read-only run. With `again` a temporary failure of the forge (limits, a cut
   * connection) is an error: the caller retries.
   */
  async right(forge: Forge, project: ForgeProject, user: ForgeUser, agent: string, signal: AbortSignal, again = false): Promise<ForgeRight> {
    const key = JSON.stringify([forge.name, forge.origin, project.id, user.id]);
    const known = fresh(this.#rights, key);
    if (known !== undefined) return known;
    try {
      const right = await forge.right(project, user, { agent }, within(signal));
      remember(this.#rights, key, right, RIGHT_MS);
      return right;
    } catch (error) {
      if (again && (error as { failure?: string }).failure !== "permanent") throw error;
      this.#log.warn(
        { forge: forge.name, project: project.path, user: user.login, reason: reasonOf(error) },
        "a right could not be asked for; it counts as report",
      );
      return "report";
    }
  }

  /** Undefined where the forge does not answer. */
  async isBot(forge: Forge, user: ForgeUser, signal: AbortSignal): Promise<boolean | undefined> {
    if (user.bot !== undefined) return user.bot;
    const key = JSON.stringify([forge.name, forge.origin, user.id]);
    const known = fresh(this.#bots, key);
    if (known !== undefined) return known;
    try {
      const bot = await forge.isBot(user, within(signal));
      remember(this.#bots, key, bot, BOT_MS);
      return bot;
    } catch (error) {
      this.#log.warn({ forge: forge.name, user: user.login, reason: reasonOf(error) }, "whether somebody is a bot could not be asked for");
      return undefined;
    }
  }
}

const within = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);

function fresh<T>(map: Map<string, Known<T>>, key: string): T | undefined {
  const known = map.get(key);
  return known !== undefined && known.until > performance.now() ? known.value : undefined;
}

function remember<T>(map: Map<string, Known<T>>, key: string, value: T, ms: number): void {
  map.delete(key);
  map.set(key, { value, until: performance.now() + ms });
  if (map.size > REMEMBERED) map.delete(map.keys().next().value as string);
}
