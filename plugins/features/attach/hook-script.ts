/** The script that a program's hooks call: for one data folder, and for the node that runs svc. */
export interface ScriptPlace {
  readonly dataFolder: string;
  readonly node: string;
}

/** Answer of a stopping daemon to the background hook: it shall ask the next one. */
export const AGAIN = "again";

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * A shell script, because a person waits for each hook: it costs some 14 ms with curl. It reads the daemon's address each time, says nothing
 * of its own and always ends with 0, so that the program carries on whatever the daemon does; only `wait` ends with 2, which begins a turn.
 */
export function hookScript({ dataFolder, node }: ScriptPlace): string {
  return `#!/bin/sh
# Written by "svc attach install"; "svc attach install --remove" takes it away. It tells the svc daemon of this folder that a coding session
# begins, is asked, stops or ends. Whatever happens here, the session carries on.
event=$1
case $event in session-start | prompt | stop | session-end | wait) ;; *) exit 0 ;; esac
# A program that the daemon has started itself is no person's session.
[ -z "$SVC_RUN" ] || exit 0
data=${quoted(dataFolder)}
[ "$event" = wait ] || [ -r "$data/daemon.json" ] || exit 0
command -v curl >/dev/null 2>&1 || exec ${quoted(node)} "$data/attach/hook.mjs" "$event"

# A daemon that hangs costs two hooks 2 s each; then it is left alone for 30 s. Nobody waits for the hook in the background.
slow=$data/attach/slow
times=0
if [ "$event" != wait ] && [ -f "$slow" ]; then
  read -r times since <"$slow" || :
  case $times$since in *[!0-9]*) times=0 since=0 ;; esac
  if [ "\${times:-0}" -ge 2 ] && [ $(($(date +%s) - \${since:-0})) -lt 30 ]; then exit 0; fi
fi

field() {
  case $note in *"\\"$1\\":"*) ;; *) value= && return ;; esac
  value=\${note#*"\\"$1\\":"}
  value=\${value#\\"}
  value=\${value%%[,\\"\\}]*}
}
case $event in wait) limit=880 ;; session-end) limit=1.8 ;; *) limit=2 ;; esac
ask() {
  [ -r "$data/daemon.json" ] || return 7
  IFS= read -r note <"$data/daemon.json" || :
  field port && port=$value
  field instance && instance=$value
  field host && host=$value
  case $host in *:*) host="[$host]" ;; esac
  secret=
  [ ! -r "$data/local-secret" ] || IFS= read -r secret <"$data/local-secret" || :
  curl -f -s --connect-timeout 0.3 -m "$limit" --noproxy '*' -H @/dev/fd/3 --data-binary @- "http://$host:$port/attach/$event" 2>/dev/null 3<<HEADERS
content-type: application/json
expect:
svc-expect-instance: $instance
x-svc-program: claude
x-svc-pid: $CLAUDE_PID
x-svc-version: $AI_AGENT
\${secret:+x-svc-local: $secret}
HEADERS
}

if [ "$event" = wait ]; then
  # It outlives a restart of the daemon: asked again while its program runs and no newer one has begun, at most 14 minutes.
  input=$(cat)
  newest=$data/attach/wait-$CLAUDE_PID
  [ -z "$CLAUDE_PID" ] || printf '%s\\n' $$ >"$newest" 2>/dev/null || :
  tries=0
  while :; do
    answer=$(printf '%s' "$input" | ask)
    case $?:$answer in 0:${AGAIN} | 7:* | 52:* | 56:*) ;; *) break ;; esac
    answer=
    tries=$((tries + 1))
    [ -n "$CLAUDE_PID" ] && [ "$tries" -lt 280 ] || break
    sleep 3
    kill -0 "$CLAUDE_PID" 2>/dev/null || break
    read -r last <"$newest" 2>/dev/null || break
    [ "$last" = $$ ] || exit 0
  done
  read -r last 2>/dev/null <"$newest" && [ "$last" = $$ ] && rm -f "$newest"
  [ -n "$answer" ] || exit 0
  printf '%s\\n' "$answer" >&2
  exit 2
fi

answer=$(ask)
code=$?
if [ "$code" = 28 ]; then
  printf '%s %s\\n' "$((\${times:-0} + 1))" "$(date +%s)" >"$slow" 2>/dev/null
  exit 0
fi
[ ! -f "$slow" ] || rm -f "$slow"
[ "$code" = 0 ] && [ -n "$answer" ] || exit 0
printf '%s' "$answer"
exit 0
`;
}

/** The same for a machine without curl. */
export function hookProgram({ dataFolder }: Pick<ScriptPlace, "dataFolder">): string {
  return `// Written by "svc attach install" for machines without curl: what hook.sh does.
import { readFileSync } from "node:fs";
import { request } from "node:http";

const data = ${JSON.stringify(dataFolder)};
const event = process.argv[2];
const read = (name) => {
  try {
    return readFileSync(data + "/" + name, "utf8");
  } catch {
    return "";
  }
};
process.on("uncaughtException", () => process.exit(0));
const { host, port, instance } = JSON.parse(read("daemon.json"));
const secret = read("local-secret");
const timeout = event === "wait" ? 880_000 : event === "session-end" ? 1_800 : 2_000;
const headers = {
  "content-type": "application/json",
  "svc-expect-instance": instance ?? "",
  "x-svc-program": "claude",
  ...(process.env.CLAUDE_PID ? { "x-svc-pid": process.env.CLAUDE_PID } : {}),
  ...(process.env.AI_AGENT ? { "x-svc-version": process.env.AI_AGENT } : {}),
  ...(secret ? { "x-svc-local": secret } : {}),
};
setTimeout(() => process.exit(0), timeout);
const call = request({ host, port, path: "/attach/" + event, method: "POST", headers, agent: false }, (response) => {
  let answer = "";
  response.setEncoding("utf8");
  response.on("data", (text) => (answer += text));
  response.on("end", () => {
    if (response.statusCode >= 300 || answer === "" || answer === "${AGAIN}") process.exit(0);
    (event === "wait" ? process.stderr : process.stdout).write(answer, () => process.exit(event === "wait" ? 2 : 0));
  });
});
call.on("error", () => process.exit(0));
process.stdin.pipe(call);
`;
}
