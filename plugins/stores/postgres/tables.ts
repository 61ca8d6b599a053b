/** The migrations of a schema, each from the version of its place to the next. `{s}` is the schema, quoted. They only go forward. */
export const MIGRATIONS: readonly string[] = [
  `
  -- A daemon from its start to its end. Declared dead it writes nothing more under this number.
  CREATE TABLE {s}.node (
    boot bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    folder text NOT NULL,                 -- identity of the data folder, whose lock proves that earlier boots of it are dead
    name text,                            -- node.id
    host text NOT NULL,
    alive boolean NOT NULL DEFAULT true,
    lease_until timestamptz NOT NULL,
    flush bigint NOT NULL DEFAULT 0,      -- the last group of writes, and its answers: a group whose reply was lost is asked for again
    answers jsonb
  ) WITH (fillfactor = 50);

  -- Keys and texts are compared by their bytes, as every other store does.
  CREATE TABLE {s}.doc (
    collection text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, version bigint NOT NULL, value text NOT NULL,
    PRIMARY KEY (collection, key)
  );
  -- A row for each declared field of a document: kind 0 is a number, 1 a text; numbers come first.
  CREATE TABLE {s}.doc_field (
    collection text COLLATE "C" NOT NULL, field text COLLATE "C" NOT NULL, kind smallint NOT NULL, num double precision NOT NULL,
    txt text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL,
    PRIMARY KEY (collection, key, field)
  );
  CREATE UNIQUE INDEX doc_field_value ON {s}.doc_field (collection, field, kind, num, txt, key);
  -- Which fields are declared; above key \`filled_to\` documents from before may lack their row. Null: all have it.
  CREATE TABLE {s}.doc_index (
    collection text COLLATE "C" NOT NULL, field text COLLATE "C" NOT NULL, filled_to text COLLATE "C",
    PRIMARY KEY (collection, field)
  );

  -- The lock of a group: a change of which item of it is the first holds this row.
  CREATE TABLE {s}.queue_group (queue text COLLATE "C" NOT NULL, grp text COLLATE "C" NOT NULL, pushes bigint NOT NULL DEFAULT 1, PRIMARY KEY (queue, grp))
    WITH (fillfactor = 50);
  CREATE TABLE {s}.item (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, grp text COLLATE "C",
    head boolean NOT NULL,                -- no earlier item of its group is there
    due bigint NOT NULL,                  -- when it may be claimed: the end of a delay or of a lease; 0 is at once
    since bigint NOT NULL,                -- when due was set: a delay set in what is now the future counts as over
    leased boolean NOT NULL DEFAULT false, again boolean NOT NULL DEFAULT false, attempt integer NOT NULL DEFAULT 0,
    owner bigint, value text NOT NULL,
    UNIQUE (queue, id)
  );
  CREATE INDEX item_group ON {s}.item (queue, grp, seq) WHERE grp IS NOT NULL;
  CREATE INDEX item_head ON {s}.item (queue, seq) WHERE head;
  CREATE INDEX item_owner ON {s}.item (owner) WHERE leased;
  CREATE TABLE {s}.seen (queue text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, at bigint NOT NULL, PRIMARY KEY (queue, key));
  CREATE INDEX seen_at ON {s}.seen (at);

  CREATE TABLE {s}.journal (name text COLLATE "C" PRIMARY KEY, last bigint NOT NULL) WITH (fillfactor = 50);
  CREATE TABLE {s}.entry (journal text COLLATE "C" NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, value text NOT NULL, PRIMARY KEY (journal, seq));

  CREATE TABLE {s}.lease (name text COLLATE "C" PRIMARY KEY, boot bigint NOT NULL, token uuid NOT NULL);
  `,
  `
  -- Who a daemon is for people, and whether one asked it to end.
  ALTER TABLE {s}.node ADD COLUMN pid integer, ADD COLUMN draining boolean NOT NULL DEFAULT false;
  DROP FUNCTION IF EXISTS {s}.begin_boot(text, text, integer);
  DROP FUNCTION IF EXISTS {s}.beat(bigint, integer);
  `,
  `
  -- Who waits and who runs. The row of a conversation with work is its lock, its state and its claim; without work it has no row.
  CREATE TABLE {s}.lane (
    key text COLLATE "C" PRIMARY KEY,     -- the conversation
    state text NOT NULL DEFAULT 'idle',   -- ready, running, parked, or ended: finished and not left yet; idle only within a transaction
    agent text COLLATE "C",               -- of the batch that is held, or is the next
    slot boolean NOT NULL DEFAULT false,  -- it has one of the agent's slots
    unparked boolean NOT NULL DEFAULT false,  -- ready to go on where its turn stands still
    rank smallint NOT NULL DEFAULT 2, place bigint NOT NULL DEFAULT 0,  -- among those that are ready: 0 was given back, 1 came to the front
    owner bigint, token uuid,             -- the boot that holds it, and its claim
    entered bigint NOT NULL DEFAULT 1
  ) WITH (fillfactor = 50);
  CREATE INDEX lane_ready ON {s}.lane (agent, rank, place) WHERE state = 'ready';
  CREATE INDEX lane_slot ON {s}.lane (agent) WHERE slot;
  CREATE INDEX lane_owner ON {s}.lane (owner) WHERE owner IS NOT NULL;
  CREATE TABLE {s}.lane_item (
    id text COLLATE "C" PRIMARY KEY, lane text COLLATE "C" NOT NULL,
    pos bigint NOT NULL,                  -- by which it waits; below 0 what came to the front, the newest first
    agent text COLLATE "C" NOT NULL, mode text NOT NULL, sort text, size integer NOT NULL, front boolean NOT NULL,
    taken boolean NOT NULL DEFAULT false, -- of the batch that is held, or was given back
    attempt integer NOT NULL DEFAULT 0, started_by bigint[] NOT NULL DEFAULT '{}', stop jsonb
  ) WITH (fillfactor = 70);
  CREATE INDEX lane_item_order ON {s}.lane_item (lane, taken DESC, pos);
  CREATE TABLE {s}.lane_agent (id text COLLATE "C" PRIMARY KEY);
  CREATE SEQUENCE {s}.lane_place;
  DROP FUNCTION IF EXISTS {s}.commit_group(bigint, bigint, jsonb, boolean, bigint, bigint);
  `,
  `
  -- What daemons tell each other. Not logged: after a crash of the server it is empty, and readers see that numbers are absent.
  CREATE UNLOGGED TABLE {s}.event (
    boot bigint NOT NULL, n bigint NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(), value text NOT NULL,
    PRIMARY KEY (boot, n)
  );
  ALTER TABLE {s}.node ADD COLUMN skew double precision;
  DROP FUNCTION IF EXISTS {s}.beat(bigint, integer);
  `,
  `
  -- A lane with a home outlives its work by a day.
  ALTER TABLE {s}.lane
    ADD COLUMN home text COLLATE "C",     -- the data folder of the daemon that has what the conversation goes on with, such as a native session
    ADD COLUMN since timestamptz;         -- of an idle one: when it became so; of a ready one: when another daemon first left it to its home
  `,
  `
  -- Answers that grow on one daemon and are watched at another. Not logged: a crash of the server forgets them.
  CREATE UNLOGGED TABLE {s}.live (
    task text COLLATE "C" PRIMARY KEY, asked_until timestamptz NOT NULL,
    size integer NOT NULL DEFAULT 0,      -- of the text, in the units of who wrote it
    text text NOT NULL DEFAULT ''
  );
  `,
  `
  -- What a daemon tells the others of itself.
  ALTER TABLE {s}.node ADD COLUMN about jsonb;
  DROP FUNCTION IF EXISTS {s}.beat(bigint, integer, double precision);
  `,
];

/** Purpose of each of them, in the same order. */
const PURPOSES = [
  "the tables of the state",
  "the process of a daemon, and the wish that it ends",
  "the lanes of what several daemons work on",
  "what daemons tell each other",
  "the home of a conversation",
  "answers that grow on another daemon",
  "what a daemon tells of itself",
];

/** One line for each migration that brings a schema of that version to this program's. */
export const waitingAfter = (version: number): readonly string[] => MIGRATIONS.map((_, at) => `${at + 1}: ${PURPOSES[at] ?? "further tables"}`).slice(version);

/** The version that this program makes and understands. */
export const SCHEMA_VERSION = MIGRATIONS.length;
