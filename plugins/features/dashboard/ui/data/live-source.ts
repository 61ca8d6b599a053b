/** One frame of the live stream. `gap`: frames may have been missed; reload all shown data. */
export interface Frame {
  readonly name: "snapshot" | "event" | "daemon" | "gap";
  readonly data: unknown;
}

/** State of the stream. */
export interface Connection {
  readonly state: "connected" | "connecting" | "lost";
  /** Since when it stands so, in Unix ms. */
  readonly since: number;
  /** When it is tried again, in Unix ms. */
  readonly nextTryAt?: number;
}

/** Credentials with which a source opens its stream. */
export interface Access {
  readonly token?: string | undefined;
  /** The daemon that is shown, as a prefix of paths. */
  readonly prefix: string;
}

/** Callbacks of a source. */
export interface SourceEvents {
  frame(frame: Frame): void;
  connection(connection: Connection): void;
  /** The server refuses this token. */
  refused(why: string, token: string | undefined): void;
}

/** Names of the frames that are passed on. */
const NAMES = ["snapshot", "event", "daemon"] as const;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;
/** The server sends a comment more often than that; silence means that the line is cut. */
const OPEN_MS = 10_000;

/** The one event source of a browser: opens with a ticket, tries again, and says `gap` where frames are missing. Runs in the worker or in a page. */
export class LiveSource {
  #access: Access | undefined;
  readonly #events: SourceEvents;
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = FIRST_RETRY_MS;
  #seq: number | undefined;
  #everOpen = false;
  #attempt = 0;
  connection: Connection = { state: "connecting", since: Date.now() };

  constructor(events: SourceEvents) {
    this.#events = events;
  }

  /** Opens the stream, or opens it anew where the access differs. */
  open(access: Access): void {
    if (this.#access?.token === access.token && this.#access?.prefix === access.prefix && (this.#source !== undefined || this.#timer !== undefined)) return;
    this.#access = access;
    this.#retryMs = FIRST_RETRY_MS;
    void this.#connect();
  }

  /** Tries at once. */
  retry(): void {
    if (this.connection.state === "connected" || this.#access === undefined) return;
    void this.#connect();
  }

  close(): void {
    this.#attempt += 1;
    this.#drop();
    this.#access = undefined;
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#source?.close();
    this.#source = undefined;
  }

  #stands(state: Connection["state"], nextTryAt?: number): void {
    const since = state === this.connection.state ? this.connection.since : Date.now();
    this.connection = { state, since, ...(nextTryAt === undefined ? {} : { nextTryAt }) };
    this.#events.connection(this.connection);
  }

  async #connect(): Promise<void> {
    this.#drop();
    const attempt = ++this.#attempt;
    const { token, prefix } = this.#access as Access;
    if (!this.#everOpen) this.#stands("connecting");
    try {
      const ticket = await this.#ticket(token);
      if (attempt !== this.#attempt || ticket === "refused") return;
      this.#listen(`${prefix}/api/live/stream${ticket === undefined ? "" : `?token=${ticket}`}`, attempt);
    } catch {
      if (attempt === this.#attempt) this.#later();
    }
  }

  /** Requests a ticket that opens one stream of this server, or one that it forwards from another daemon; undefined if none is needed. */
  async #ticket(token: string | undefined): Promise<string | undefined | "refused"> {
    const answer = await fetch("/api/ticket", {
      method: "POST",
      headers: { "x-requested-with": "svc-board", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      credentials: "omit",
      signal: AbortSignal.timeout(OPEN_MS),
    });
    const body = (await answer.json().catch(() => ({}))) as { ticket?: string; error?: string };
    if (answer.status === 401 || answer.status === 403) {
      this.#stands("lost");
      this.#events.refused(body.error ?? "The token is refused.", token);
      return "refused";
    }
    if (!answer.ok) throw new Error(body.error);
    return body.ticket;
  }

  #listen(url: string, attempt: number): void {
    const source = new EventSource(url);
    this.#source = source;
    // One that never opens would keep the page in doubt.
    this.#timer = setTimeout(() => this.#lost(attempt), OPEN_MS);
    for (const name of NAMES)
      source.addEventListener(name, (event) => {
        if (attempt !== this.#attempt) return;
        if (name === "snapshot") this.#opened();
        this.#pass(name, event as MessageEvent<string>);
      });
    source.onerror = () => this.#lost(attempt);
  }

  #opened(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#retryMs = FIRST_RETRY_MS;
    this.#seq = undefined;
    this.#stands("connected");
    if (this.#everOpen) this.#events.frame({ name: "gap", data: {} });
    this.#everOpen = true;
  }

  /** Frames of a stream are numbered one by one: a number that is left out is a frame that never came. */
  #pass(name: Frame["name"], { data, lastEventId }: MessageEvent<string>): void {
    const seq = lastEventId === "" ? undefined : Number(lastEventId);
    const missed = seq !== undefined && this.#seq !== undefined && seq > this.#seq + 1;
    if (seq !== undefined) this.#seq = seq;
    if (missed) this.#events.frame({ name: "gap", data: {} });
    this.#events.frame({ name, data: JSON.parse(data) });
  }

  #lost(attempt: number): void {
    if (attempt === this.#attempt) this.#later();
  }

  #later(): void {
    this.#drop();
    const wait = this.#retryMs;
    this.#retryMs = Math.min(LAST_RETRY_MS, wait * 2);
    this.#stands("lost", Date.now() + wait);
    this.#timer = setTimeout(() => void this.#connect(), wait);
  }
}
