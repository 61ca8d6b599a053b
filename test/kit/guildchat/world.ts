/** A person or a bot of the platform. */
export interface User {
  readonly id: string;
  readonly username: string;
  readonly global_name: string | null;
  readonly discriminator: "0";
  readonly avatar: null;
  readonly bot?: true;
}

/** A place to write: 0 a channel of a server, 1 a direct conversation, 11 a thread. */
export interface Place {
  readonly id: string;
  readonly type: 0 | 1 | 11;
  readonly name: string;
  readonly guild?: string;
  readonly parent?: string;
  /** The two of a direct conversation. */
  readonly people?: readonly string[];
  last: string | null;
  archived: boolean;
  /** The bot does not see it. */
  hidden: boolean;
}

/** A server of the platform. */
export interface Guild {
  readonly id: string;
  readonly name: string;
  /** The role that the platform made for the bot. */
  readonly botRole: string;
}

/** A file of a message. */
export interface StoredFile {
  readonly id: string;
  readonly name: string;
  readonly type?: string;
  readonly data: Uint8Array;
}

/** A message as people see it. */
export interface Post {
  readonly id: string;
  readonly place: string;
  readonly author: string;
  content: string;
  readonly files: readonly StoredFile[];
  readonly replyTo?: string;
  readonly nonce?: string;
  components: readonly unknown[];
  readonly reactions: string[];
  readonly type: number;
  /** Whether those who are named in it were called. */
  readonly calls: readonly string[];
  /** Contents that it had before, oldest first. */
  readonly before: string[];
  readonly roles: readonly string[];
}

/** A command or a button that somebody used. */
export interface Interaction {
  readonly id: string;
  readonly token: string;
  readonly at: number;
  /** What the person alone was shown. */
  shown: string[];
  answered: boolean;
  deferred: boolean;
}

const EPOCH = 1_420_070_400_000n;

/** All that the platform knows. */
export class World {
  readonly users = new Map<string, User>();
  readonly guilds = new Map<string, Guild>();
  readonly places = new Map<string, Place>();
  readonly posts: Post[] = [];
  readonly byId = new Map<string, Post>();
  readonly interactions = new Map<string, Interaction>();
  readonly commands = new Map<string, Record<string, unknown>>();
  /** Roles of members, by server and user. */
  readonly roles = new Map<string, string[]>();
  #last = 0n;

  /** Ids grow, and tell their time. */
  nextId(): string {
    const now = (BigInt(Date.now()) - EPOCH) << 22n;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return String(this.#last);
  }

  addUser(username: string, { id = this.nextId(), bot = false }: { id?: string; bot?: boolean } = {}): User {
    const user: User = { id, username, global_name: bot ? null : username, discriminator: "0", avatar: null, ...(bot ? { bot: true } : {}) };
    this.users.set(id, user);
    return user;
  }

  addGuild(name: string, id = this.nextId()): Guild {
    const guild = { id, name, botRole: this.nextId() };
    this.guilds.set(id, guild);
    return guild;
  }

  addPlace(place: Partial<Place> & Pick<Place, "type" | "name">): Place {
    const made: Place = { id: this.nextId(), last: null, archived: false, hidden: false, ...place };
    this.places.set(made.id, made);
    return made;
  }

  direct(left: string, right: string): Place {
    const found = [...this.places.values()].find(({ people }) => people?.includes(left) && people.includes(right));
    return found ?? this.addPlace({ type: 1, name: "", people: [left, right] });
  }

  post(post: Omit<Post, "id" | "reactions" | "before">): Post {
    const made: Post = { ...post, id: this.nextId(), reactions: [], before: [] };
    this.posts.push(made);
    this.byId.set(made.id, made);
    const place = this.places.get(made.place);
    if (place !== undefined) {
      place.last = made.id;
      place.archived = false;
    }
    return made;
  }

  remove(post: Post): void {
    this.posts.splice(this.posts.indexOf(post), 1);
    this.byId.delete(post.id);
  }

  at(place: string): Post[] {
    return this.posts.filter((post) => post.place === place);
  }
}
