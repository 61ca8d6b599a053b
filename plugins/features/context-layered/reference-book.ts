import { createHash } from "node:crypto";
import { type Confined, type PluginContext, reasonOf } from "@svc/sdk";
import { contextError } from "./context-errors.ts";
import { digestOf, entriesOf, isAddress, type Judged, judge, MAX_REGISTRY, REGISTRY, type Reference, readRegistry } from "./reference-registry.ts";

/** The references of one agent, for the people who look after them. */
export interface ReferenceBook {
  list(): Promise<readonly Judged[]>;
  /** Adds one as checked now. Throws `SVC_REFERENCE_*`. */
  add(given: Pick<Reference, "name" | "at" | "note">): Promise<Judged>;
  /**
   * Looks at one or all of them now, also at addresses. What was never checked is noted as it is; one that has changed since stays
   * unverified, unless `accept` says that the new content is right.
   */
  verify(name: string | undefined, accept: boolean): Promise<readonly Judged[]>;
  remove(name: string): Promise<void>;
}

const MAX_PAGE = 5 * 1_048_576;

/** Opens those of an agent's workspace. */
export function openReferences({ fetch }: Pick<PluginContext, "fetch">, agent: string, workspace: Confined, now: () => Date = () => new Date()): ReferenceBook {
  const today = () => now().toISOString().slice(0, 10);

  /** Returns the digest of the current content, or why there is none. */
  async function look(at: string): Promise<{ readonly digest: string } | { readonly reason: string }> {
    if (!isAddress(at)) {
      const looked = await digestOf(workspace, at);
      return looked.digest === undefined ? { reason: looked.reason } : { digest: looked.digest };
    }
    if (!/^https?:/i.test(at)) return { reason: "only http and https addresses can be looked at" };
    try {
      const { status, body, truncated } = await fetch(at, { maxBytes: MAX_PAGE });
      if (status < 200 || status > 299) return { reason: `dead link: it answers ${status}` };
      if (truncated) return { reason: "it is larger than 5 MiB" };
      return { digest: createHash("sha256").update(body).digest("hex") };
    } catch (error) {
      return { reason: `dead link: ${reasonOf(error).slice(0, 200)}` };
    }
  }

  /** Changes the list as one step, beside other writers; entries that this plugin does not understand stay. */
  async function change(edit: (entries: Record<string, unknown>[]) => Record<string, unknown>[]): Promise<void> {
    await workspace.change(REGISTRY, MAX_REGISTRY, (before) => {
      if (before !== undefined) entriesOf(before);
      const entries = before === undefined ? [] : (JSON.parse(new TextDecoder().decode(before)) as Record<string, unknown>[]);
      return `${JSON.stringify(edit(entries), null, 2)}\n`;
    });
  }

  return {
    list: async () => judge(workspace, await readRegistry(workspace)),
    async add({ name, at, note }) {
      const looked = await look(at);
      if ("reason" in looked) throw contextError("SVC_REFERENCE_UNREACHED", { at, reason: looked.reason });
      const entry = { name, at, ...(note === undefined ? {} : { note }), verified: today(), sha256: looked.digest };
      await change((entries) => {
        if (entries.some((one) => one?.["name"] === name)) throw contextError("SVC_REFERENCE_TAKEN", { name, agent });
        return [...entries, entry];
      });
      return { ...entry, state: isAddress(at) ? "recorded" : "verified" };
    },
    async verify(only, accept) {
      const asked = (await readRegistry(workspace)).filter(({ name }) => only === undefined || name === only);
      if (only !== undefined && asked.length === 0) throw contextError("SVC_REFERENCE_UNKNOWN", { name: only, agent });
      const noted = new Map<string, Reference>();
      const judged: Judged[] = [];
      for (const { failed: _, ...entry } of asked) {
        const looked = await look(entry.at);
        const before = entry.verified !== undefined && entry.verified !== "" ? entry.sha256?.toLowerCase() : undefined;
        const reason =
          "reason" in looked
            ? looked.reason
            : before === undefined || before === looked.digest || accept
              ? undefined
              : `it has changed since ${entry.verified}`;
        const digest = "digest" in looked ? looked.digest : undefined;
        const next: Reference =
          reason === undefined && digest !== undefined
            ? { ...entry, verified: today(), sha256: digest }
            : // What a turn cannot see for itself is noted.
              { ...entry, ...(isAddress(entry.at) && reason !== undefined ? { failed: reason } : {}) };
        noted.set(entry.name, next);
        judged.push({ ...next, ...(reason === undefined ? { state: isAddress(entry.at) ? "recorded" : "verified" } : { state: "unverified", reason }) });
      }
      await change((entries) =>
        entries.map((entry) => {
          const next = typeof entry?.["name"] === "string" ? noted.get(entry["name"]) : undefined;
          // Somebody may have pointed it elsewhere while it was looked at.
          if (next === undefined || entry["at"] !== next.at) return entry;
          const { failed: _, ...rest } = entry;
          return { ...rest, ...next };
        }),
      );
      return judged;
    },
    async remove(name) {
      await change((entries) => {
        const left = entries.filter((entry) => entry?.["name"] !== name);
        if (left.length === entries.length) throw contextError("SVC_REFERENCE_UNKNOWN", { name, agent });
        return left;
      });
    },
  };
}
