import type { Target } from "./messages.ts";

/** Service `notifier`: short notices to the people who run the daemon. */
export interface Notifier {
  /** Resolves once it is stored. Without a destination, given or configured, it is dropped. The same `key` twice is one notice. */
  notify(notice: {
    readonly text: string;
    readonly title?: string;
    readonly destination?: Pick<Target, "channel" | "chat" | "account">;
    /** 1 (lowest) to 5, for channels that know urgency. */
    readonly priority?: number;
    readonly key?: string;
  }): Promise<void>;
  /** Configured destination of notices; undefined where none is set. */
  destination(): Pick<Target, "channel" | "chat" | "account"> | undefined;
}
