import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };
const mode: Schema = { type: "string", enum: ["manual", "notify", "auto"] };

const AttachedSession = objectOf(
  {
    session: text,
    program: text,
    cwd: text,
    depth: { ...count, description: "Messages that wait for it" },
    wakeable: { type: "boolean", description: "A message can begin a turn of it" },
    lastEvent: time,
  },
  { pid: count, agent: text, mode, permissionMode: text },
);

const AttachedMessage = objectOf({
  id: text,
  from: text,
  channel: text,
  text,
  cut: { ...flag, description: "The text was longer" },
  answerBy: time,
});

const HookAnswer: Schema = {
  ...objectOf(
    {},
    {
      systemMessage: { type: "string", description: "Shown to the person at the terminal" },
      hookSpecificOutput: objectOf({ hookEventName: text, additionalContext: text }),
      decision: { type: "string", enum: ["block", "deny"] },
      reason: { type: "string", description: "With a decision: what the turn goes on with" },
    },
  ),
  description: "In the form that the coding program prescribes for the output of its hooks; more is said in the program's own reference",
};

/** An empty text where the program carries on as it is. */
const hook: readonly RouteAnswer[] = [{ json: HookAnswer }, { type: "text/plain" }];
const silent: RouteAnswer = { type: "text/plain" };

const answers: Answers = {
  schemas: { AttachedMessage, AttachedSession, HookAnswer },
  routes: {
    "POST /attach/session-start": hook,
    "POST /attach/prompt": hook,
    "POST /attach/stop": hook,
    "POST /attach/session-end": [silent],
    // Words that begin a turn, or 204 when the time is over without any.
    "POST /attach/wait": [silent, { status: 204 }],
    "POST /attach/bind": [
      { json: objectOf({ agent: text, mode, session: text }, { movedFrom: { type: "string", description: "The session that wore the agent until now" } }) },
    ],
    "POST /attach/detach": [{ json: objectOf({ agent: text, session: text }) }],
    "POST /attach/next": [{ json: objectOf({ items: listOf(AttachedMessage), left: count }) }],
    "POST /attach/answer": [{ json: objectOf({ state: { type: "string", enum: ["answered", "refused"] } }) }],
    "GET /attach/sessions": [{ json: listOf(AttachedSession) }],
  },
};

export default answers;
