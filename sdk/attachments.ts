/** Service `attachments`: which agents an interactive session of a person on this machine wears. */
export interface Attachments {
  /** One for each such agent. */
  list(): Promise<readonly Attachment[]>;
}

/** A session that takes an agent's messages and answers them. */
export interface Attachment {
  readonly agent: string;
  /** Delivery of messages to the session: on request, with a notice, or automatically. */
  readonly mode: "manual" | "notify" | "auto";
  /** The program of the session. */
  readonly program: string;
}
