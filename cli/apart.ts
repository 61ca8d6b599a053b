import { fail } from "./errors.ts";
import type { OwnGroup } from "./group.ts";

/** A first-party plugin that is no part of the default installation. */
export interface Apart {
  /** Its package. */
  readonly name: string;
  readonly because: string;
  /** Its command group. */
  readonly summary: string;
}

/** By what they are called, which is the name of their command group, too. */
export const APART: Readonly<Record<string, Apart>> = {
  phonemsg: { name: "@svc/channel-phonemsg", because: "what it depends on is under the GPL-3.0", summary: "The linked phone: pair, unpair, its chats, ingest" },
};

/** The command group of one that was not added: every command of it says how it is. */
export function groupApart(group: string, { name, because, summary }: Apart): OwnGroup {
  const next = `svc plugin add ${name}`;
  return {
    name: group,
    summary: `${summary} (after: ${next})`,
    commands: [
      {
        name: group,
        args: "[command...]",
        summary: `${summary}. Not installed: it is a package of its own, because ${because}. Add it with: ${next}`,
        async run() {
          throw fail("SVC_CLI_USAGE", { reason: `svc ${group} comes with ${name}, a package of its own, because ${because}. Add it with: ${next}` });
        },
      },
    ],
  };
}
