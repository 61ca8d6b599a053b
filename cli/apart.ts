import { fail } from "./errors.ts";
import type { OwnGroup } from "./group.ts";

/** A first-party plugin outside the default installation. */
export interface Apart {
  /** Its package. */
  readonly name: string;
  readonly because: string;
  /** Its command group. */
  readonly summary: string;
}

/** Plugins by the name that people use, also the name of their command group. */
export const APART: Readonly<Record<string, Apart>> = {
  phonemsg: { name: "@svc/channel-phonemsg", because: "what it depends on is under the GPL-3.0", summary: "The linked phone: pair, unpair, its chats, ingest" },
};

/** The command group of a plugin that is not installed: each of its commands prints how to add it. */
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
