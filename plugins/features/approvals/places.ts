import type { Inbound, Services, Target } from "@svc/sdk";
import { type Place, samePlace } from "./row.ts";
import type { ApprovalSettings } from "./settings.ts";

/** Where questions are asked, and whose answer counts there. */
export interface Places {
  /** `approvals.digest.destination`, else where notices go. */
  configured(): Place | undefined;
  /** The configured chat, and the one that a question names. */
  asked(named: Place | undefined): readonly Place[];
  /** Ids of those whose answer counts there; undefined: it is the configured chat, and judged by who writes. None: it is only shown. */
  choosers(place: Place): readonly string[] | undefined;
  /** Listed in `allowFrom`, or writing in the configured chat, which belongs to this one person. */
  mayAnswer(message: Pick<Inbound, "channel" | "chat" | "account" | "sender" | "direct">): boolean;
}

/** The places by the settings, asked each time. */
export function createPlaces(services: Services, settings: () => ApprovalSettings): Places {
  function configured(): Place | undefined {
    const own = settings().digest.destination;
    if (own === undefined) return bare(services.get("notifier")?.destination());
    return { channel: own.channel, chat: own.chatId, ...(own.accountId === undefined ? {} : { account: own.accountId }) };
  }
  return {
    configured,
    asked(named) {
      const places = [configured(), bare(named)].filter((place) => place !== undefined);
      return places.filter((place, at) => places.findIndex((other) => samePlace(place, other)) === at);
    },
    choosers(place) {
      const own = configured();
      if (own !== undefined && samePlace(own, place)) return undefined;
      const before = `${place.channel}:`;
      return settings().allowFrom.flatMap((entry) => (entry.startsWith(before) ? [entry.slice(before.length)] : []));
    },
    mayAnswer({ channel, chat, account, sender, direct }) {
      if (sender !== undefined && settings().allowFrom.includes(`${channel}:${sender.id}`)) return true;
      const own = configured();
      return direct === true && own?.channel === channel && own.chat === chat && (own.account === undefined || own.account === account);
    },
  };
}

/** Without what only an answer has. */
function bare(target: Pick<Target, "channel" | "chat" | "account"> | undefined): Place | undefined {
  return target && { channel: target.channel, chat: target.chat, ...(target.account === undefined ? {} : { account: target.account }) };
}
