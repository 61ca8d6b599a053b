/** Service `people`: people, roles and addresses of the section `business` of svc.json, as it was when the daemon started. Never throws. */
export interface People {
  /** All entries of the chart, in its order. */
  list(): readonly Person[];
  /** An agent or a person of the chart, by id. */
  get(id: string): Person | undefined;
  /** Roles of a person in the chart; empty for an unknown id. */
  rolesOf(id: string): readonly string[];
  /** Ids of all people with that role. */
  withRole(role: string): readonly string[];
  /** Superiors of that id, the nearest first. */
  superiorsOf(id: string): readonly string[];
  /** Whether a person works at that moment (default now) by their own working window, and since or from when. Undefined where none is set. */
  working(id: string, at?: Date): WorkingState | undefined;
  /** All projects, in the order of the configuration. */
  projects(): readonly Project[];
  /** One of them, by id. */
  project(id: string): Project | undefined;
  /** Finds the contact of an address; the most specific entry wins. Undefined for an unknown address. */
  whois(address: Address): Contact | undefined;
}

/** An agent or a person of the chart. */
export interface Person {
  readonly id: string;
  readonly roles: readonly string[];
  /** The id of the superior. */
  readonly reportsTo?: string;
  readonly workingWindow?: WorkingWindow;
}

/** Working hours: wall-clock time of `timezone`, from `start` up to `end`, on `days`. An end before the start is on the next day. */
export interface WorkingWindow {
  /** `HH:MM`. */
  readonly start: string;
  /** `HH:MM`; the same as `start` is a whole day. */
  readonly end: string;
  /** 1 (Monday) to 7, those on which a window starts. */
  readonly days: readonly number[];
  /** An IANA name. */
  readonly timezone: string;
  /** Percent of that time which may be planned. */
  readonly utilization?: number;
}

/** Whether a working window is open. */
export interface WorkingState {
  readonly working: boolean;
  /** The next change, in Unix milliseconds: the end of an open window, the start of the next one. */
  readonly until: number;
}

/** A project, its manager and its client. */
export interface Project {
  readonly id: string;
  /** The id of the project manager. */
  readonly pm?: string;
  readonly client?: string;
}

/** An address on a channel, with its known parts. */
export interface Address {
  readonly channel: string;
  readonly chat?: string;
  /** The platform's stable id of the sender. */
  readonly sender?: string;
  /** The sender's handle, with or without `@`. Handles change hands: an entry that names a sender's id is safer. */
  readonly username?: string;
}

/** Owner of an address. */
export interface Contact {
  readonly client?: string;
  readonly project?: string;
  readonly displayName?: string;
}
