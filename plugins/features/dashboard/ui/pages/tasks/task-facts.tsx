import type { ReactNode } from "react";
import { Link } from "../../data/router.tsx";
import { AgentMark } from "../../kit/agent-mark.tsx";
import { count } from "../../kit/figures.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { Ago, Cost, Duration, Mono } from "../../kit/values.tsx";
import { TASKS } from "../../words/tasks.ts";
import type { TaskView } from "./task-types.ts";

/** Facts of a task at a glance: its end, agent and chat, duration and cost. */
export function TaskFacts({ view, name }: { readonly view: TaskView; readonly name: string }) {
  const { trace, state } = view;
  const { agent, channel, chat, sender, startedAt, durationMs, usage, runId, endedAt, sessionId } = trace;
  const { facts } = TASKS;
  const read = usage === undefined ? 0 : usage.input + (usage.cacheRead ?? 0) + (usage.cacheCreate ?? 0);
  return (
    <dl className="task-facts">
      <Fact name={facts.state}>
        <Glyph state={state} word />
      </Fact>
      <Fact name={facts.agent}>
        {agent === "" ? (
          TASKS.noAgent
        ) : (
          <Link to={`/live?chat=${encodeURIComponent(agent)}`} className="kit-marked">
            <AgentMark agent={agent} />
            <bdi className="cut">{name}</bdi>
          </Link>
        )}
      </Fact>
      <Fact name={facts.from} wide>
        <bdi>{[channel, chat, sender].filter((part) => part !== undefined && part !== "").join(" · ")}</bdi>
      </Fact>
      <Fact name={facts.took}>
        <Duration ms={endedAt === undefined ? undefined : durationMs} from={startedAt} to={endedAt} />
      </Fact>
      <Fact name={facts.tokens}>
        {usage === undefined ? (
          <span className="task-unknown">{TASKS.noTokens}</span>
        ) : (
          <>
            {count(read + usage.output)}{" "}
            <span className="task-of">
              {[
                TASKS.tokensIn(count(read)),
                TASKS.tokensOut(count(usage.output)),
                ...(usage.cacheRead === undefined || read === 0 ? [] : [TASKS.cached(`${Math.round((usage.cacheRead / read) * 100)}%`)]),
              ].join(" · ")}
            </span>
          </>
        )}
      </Fact>
      <Fact name={facts.cost}>
        <Cost usd={usage?.cost} unknown={TASKS.costUnknown} />
      </Fact>
      <Fact name={facts.started}>
        <Ago at={startedAt} clock />
      </Fact>
      {runId !== undefined && (
        <Fact name={facts.run}>
          <Link to={`/processes?run=${encodeURIComponent(runId)}`}>{runId}</Link>
        </Fact>
      )}
      {sessionId !== undefined && (
        <Fact name={facts.session} wide>
          <Mono>{sessionId}</Mono>
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, wide = false, children }: { readonly name: string; readonly wide?: boolean; readonly children: ReactNode }) {
  return (
    <div className={wide ? "task-fact task-fact-wide" : "task-fact"}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
