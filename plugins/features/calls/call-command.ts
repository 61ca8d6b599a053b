import { type CliHost, type CommandGroup, userName } from "@svc/sdk";
import { type CallView, endWords, type Line } from "./call-row.ts";

const group: CommandGroup = {
  name: "call",
  summary: "Ring an agent, or have an agent ring a person",
  commands: [
    {
      name: "call",
      args: "<agent|person>",
      summary: "An agent by its id, which you then talk to; or a chat of channels.webrtc.ringNotify, which an agent rings",
      options: [
        { flags: "--agent <id>", description: "the agent that rings the person (default: channels.webrtc.bot.defaultAgentId)" },
        { flags: "--why <text>", description: "what it is about; the person reads it" },
        { flags: "--camera", description: "ask to see the person's camera" },
      ],
      run: ([to = ""], options, cli) => place(to, options, cli),
    },
    {
      name: "list",
      args: "[id]",
      summary: "Calls that ring or run; with an id one call and its transcript",
      options: [{ flags: "--all", description: "those of the last 30 days, too" }],
      run: ([id], { all }, cli) => (id === undefined ? list(all === true, cli) : show(id, cli)),
    },
    { name: "end", args: "<id>", summary: "End a call", run: ([id = ""], _options, cli) => end(id, cli) },
    { name: "picture", args: "<id>", summary: "Ask for a picture of a camera session; the agent gets it", run: ([id = ""], _options, cli) => picture(id, cli) },
  ],
};
export default group;

async function place(to: string, { agent, why, camera }: Readonly<Record<string, unknown>>, cli: CliHost): Promise<void> {
  const body = {
    to,
    kind: camera === true ? "camera" : "call",
    by: userName(),
    ...(agent === undefined ? {} : { agent }),
    ...(why === undefined ? {} : { why }),
  };
  const { call, url } = (await cli.request("POST", "/calls", body)) as { call: CallView; url?: string };
  const until = `until ${new Date(call.ringUntil).toLocaleTimeString()}`;
  cli.print(url === undefined ? `${call.id}: ${call.agent} rings ${to}, ${until}.` : `Open this to talk to ${call.agent}; it opens once, ${until}:\n${url}`, {
    ...call,
    ...(url === undefined ? {} : { url }),
  });
}

async function list(all: boolean, cli: CliHost): Promise<void> {
  const { calls } = (await cli.request("GET", `/calls?all=${all}`)) as { calls: readonly CallView[] };
  cli.print(calls.map(line).join("\n") || (all ? "There was no call in the last 30 days." : "No call rings or runs."), calls);
}

async function show(id: string, cli: CliHost): Promise<void> {
  const answer = (await cli.request("GET", `/calls/${encodeURIComponent(id)}`)) as { call: CallView; lines: readonly Line[] };
  cli.print([line(answer.call), ...answer.lines.map(({ who, text }) => `${who}: ${text}`)].join("\n"), answer);
}

async function end(id: string, cli: CliHost): Promise<void> {
  const { call } = (await cli.request("POST", `/calls/${encodeURIComponent(id)}/end`)) as { call: CallView };
  cli.print(line(call), call);
}

async function picture(id: string, cli: CliHost): Promise<void> {
  const { frame } = (await cli.request("POST", `/calls/${encodeURIComponent(id)}/ask`)) as { frame: number };
  cli.print(`Picture ${frame} of ${id} is asked for.`, { frame });
}

function line(call: CallView): string {
  const { id, kind, direction, agent, person, state, at } = call;
  const time = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));
  const facts = { end: call.end, startedAt: time(call.startedAt), endedAt: time(call.endedAt), limitAt: time(call.limitAt) };
  const how = state === "ended" ? endWords(facts as Parameters<typeof endWords>[0]) : state;
  return [id, at, kind, direction === "in" ? `${person} to ${agent}` : `${agent} to ${person}`, how].join("  ");
}
