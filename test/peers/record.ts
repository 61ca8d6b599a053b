import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin, Spawn } from "@svc/sdk";
import type { Recorded, RecordedTurn } from "@svc/sdk/testing";
import cliA from "../../plugins/tiers/cli-a/index.ts";
import cliB from "../../plugins/tiers/cli-b/index.ts";
import cliC from "../../plugins/tiers/cli-c/index.ts";
import { PROGRAMS } from "./programs.ts";
import { createStage, first, type Stage } from "./stage.ts";

// `npx jiti test/peers/record.ts [cli-a|cli-b|cli-c [scenario]]`: records the real programs anew, for the replays of `npm test`.

const api = { billing: "api" };
const unknown = "11111111-1111-4111-8111-111111111111";
const SUBJECTS: Readonly<
  Record<
    string,
    { plugin: unknown; program: string; env: (url: string) => Record<string, string>; scenarios: Readonly<Record<string, readonly RecordedTurn[]>> }
  >
> = {
  "cli-a": {
    plugin: cliA,
    program: PROGRAMS.claude,
    env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy-key" }),
    scenarios: {
      "hello-and-resume": [
        { prompt: "hello there", system: "You are Ada.", model: "claude-test", settings: api },
        { prompt: "THINK of it", system: "You are Ada.", model: "claude-test", settings: api, resume: true },
      ],
      "warm-turns": [
        { prompt: "one", settings: { ...api, persistentProcess: true } },
        { prompt: "two", settings: { ...api, persistentProcess: true }, resume: true },
      ],
      tools: [
        {
          prompt: 'CALL:Write:{"file_path":"note.txt","content":"words"} CALL:Bash:{"command":"cat note.txt","description":"look"}',
          settings: { ...api, permissionMode: "acceptEdits" },
        },
      ],
      denied: [{ prompt: 'CALL:Write:{"file_path":"note.txt","content":"words"}', settings: api }],
      "unknown-session": [{ prompt: "hello again", settings: api, session: unknown }],
      interrupted: [{ prompt: "HANG", settings: api, abortOn: "session" }],
      refused: [{ prompt: "FAIL:400", settings: api }],
      full: [{ prompt: "OVERFLOW", settings: api }],
    },
  },
  "cli-b": {
    plugin: cliB,
    program: PROGRAMS.codex,
    env: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "dummy-key" }),
    scenarios: {
      "hello-and-resume": [
        { prompt: "hello there", system: "You are Ben.", model: "fake-7", settings: api },
        { prompt: "THINK of it", system: "You are Ben, the second.", model: "fake-7", settings: api, resume: true },
      ],
      "warm-turns": [
        { prompt: "one", settings: { ...api, persistentProcess: true } },
        { prompt: "two", settings: { ...api, persistentProcess: true }, resume: true },
      ],
      tools: [{ prompt: 'CALL:exec_command:{"cmd":"echo words > note.txt; sleep 0.3; cat note.txt"}', settings: { ...api, permissionMode: "acceptEdits" } }],
      declined: [{ prompt: 'CALL:exec_command:{"cmd":"touch made","sandbox_permissions":"require_escalated","justification":"because"}', settings: api }],
      "unknown-session": [{ prompt: "hello again", settings: api, session: "01a1fbf7-0000-7000-8000-000000000000" }],
      interrupted: [
        { prompt: 'CALL:exec_command:{"cmd":"tail -f /dev/null","yield_time_ms":30000}', settings: { ...api, persistentProcess: true }, abortOn: "step" },
      ],
      refused: [{ prompt: "FAIL:429", settings: api }],
      full: [{ prompt: "OVERFLOW", settings: api }],
      cut: [{ prompt: "first words and then DROP:1 comes more", settings: api }],
    },
  },
  "cli-c": {
    plugin: cliC,
    program: PROGRAMS.gemini,
    env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "dummy-key" }),
    scenarios: {
      "hello-and-resume": [
        { prompt: "hello there", system: "You are Cleo.", model: "gemini-2.5-flash", settings: api },
        { prompt: "THINK of it", system: "You are Cleo.", model: "gemini-2.5-flash", settings: api, resume: true },
      ],
      "warm-turns": [
        { prompt: "one", model: "gemini-2.5-flash", settings: { ...api, persistentProcess: true } },
        { prompt: "two", model: "gemini-2.5-flash", settings: { ...api, persistentProcess: true }, resume: true },
      ],
      tools: [
        {
          prompt: 'CALL:write_file:{"file_path":"note.txt","content":"words"} CALL:run_shell_command:{"command":"cat note.txt"}',
          model: "gemini-2.5-flash",
          settings: { ...api, permissionMode: "bypassPermissions" },
        },
      ],
      declined: [{ prompt: 'CALL:write_file:{"file_path":"note.txt","content":"words"}', model: "gemini-2.5-flash", settings: api }],
      interrupted: [
        {
          prompt: 'CALL:run_shell_command:{"command":"tail -f /dev/null"}',
          model: "gemini-2.5-flash",
          settings: { ...api, permissionMode: "bypassPermissions" },
          abortOn: "step",
        },
      ],
      refused: [{ prompt: "FAIL:400", model: "gemini-2.5-flash", settings: api }],
      full: [{ prompt: "OVERFLOW", model: "gemini-2.5-flash", settings: api }],
    },
  },
};

const LONGEST = 300;

for (const [name, { plugin, program, env, scenarios }] of Object.entries(SUBJECTS)) {
  if (process.argv[2] !== undefined && process.argv[2] !== name) continue;
  const folder = join(import.meta.dirname, `../../plugins/tiers/${name}/fixtures`);
  mkdirSync(folder, { recursive: true });
  for (const [title, turns] of Object.entries(scenarios)) {
    if (process.argv[3] !== undefined && process.argv[3] !== title) continue;
    const entries: Recorded[] = [];
    const stage = await createStage(plugin as Plugin<never>, { config: { command: program }, env, around: (spawn) => recording(spawn, entries) });
    await play(stage, turns, entries);
    await stage.dispose();
    const text = entries.map((entry) => anonymous(JSON.stringify(shortened(entry)), stage)).join("\n");
    writeFileSync(join(folder, `${title}.jsonl`), `${text}\n`);
    console.log(`${name} ${title}: ${entries.length} lines, ${text.length} bytes`);
  }
}

async function play(stage: Stage, turns: readonly RecordedTurn[], entries: Recorded[]): Promise<void> {
  let session: string | undefined;
  for (const turn of turns) {
    entries.push({ turn });
    const abort = new AbortController();
    const { prompt, options, abortOn, resume, ...given } = turn;
    const resumed = turn.session ?? (resume ? session : undefined);
    const events = await stage.run(prompt, {
      system: "",
      ...given,
      ...(options === undefined ? {} : { turn: options }),
      ...(resumed === undefined ? {} : { session: resumed }),
      signal: abort.signal,
      listen(event) {
        entries.push({ event });
        // A moment later, as a person would: by then the program is at it.
        if (event.type === abortOn) setTimeout(() => abort.abort(), 300);
      },
    });
    session = first(events, "session")?.id;
  }
}

/** Writes down what goes in and out of each process. */
function recording(spawn: Spawn, entries: Recorded[]): Spawn {
  let processes = 0;
  return (command, args, options) => {
    const number = processes++;
    let over = false;
    const note = (entry: object) => void (over || entries.push({ process: number, ...entry } as Recorded));
    note({ start: args });
    const { onLine } = options;
    const heard = (line: string) => {
      note({ out: line });
      onLine?.(line);
    };
    const child = spawn(command, args, { ...options, ...(onLine === undefined ? {} : { onLine: heard }) });
    const ended = child.ended.then((end) => {
      note({ end: { ...end, stdout: "" } });
      over = true;
      return end;
    });
    return {
      get pid() {
        return child.pid;
      },
      started: child.started,
      ended,
      write(data) {
        note({ in: JSON.parse(data) });
        return child.write(data);
      },
      closeStdin() {
        note({ close: true });
        child.closeStdin();
      },
      stop() {
        note({ stop: true });
        return child.stop();
      },
    };
  };
}

/** Long texts of the programs, such as lists of commands, are cut; ours are short. */
function shortened(entry: Recorded): Recorded {
  if (!("out" in entry)) return entry;
  const cut = (_: string, value: unknown) =>
    typeof value === "string" && value.length > LONGEST
      ? `${value.slice(0, LONGEST)}…`
      : Array.isArray(value) && value.length > 12
        ? value.slice(0, 12)
        : value;
  return entry.out.startsWith("{") ? { ...entry, out: JSON.stringify(JSON.parse(entry.out, cut)) } : entry;
}

/** Without the folders of the recording machine. */
function anonymous(text: string, { workspace, home, server }: Stage): string {
  return text
    .replaceAll(workspace, "/workspace")
    .replaceAll(workspace.replaceAll("/", "-"), "-workspace")
    .replaceAll(home, "/home/svc")
    .replaceAll(server.url, "http://model.test")
    .replaceAll(join(import.meta.dirname, "node_modules"), "/programs")
    .replaceAll(/svc-peer-\w{6}/g, "svc-peer");
}
