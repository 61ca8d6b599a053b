import type { ApprovalDecision, Envelope, PluginContext, WithheldDelivery } from "@svc/sdk";
import type { Questions } from "./questions.ts";
import { howOf } from "./words.ts";

/** The kind of questions about withheld deliveries. */
export const DELIVERY = "delivery";

const PAGE = 500;
/** Of a withheld text so much stands in the question; whole texts are in the trace. */
const MOST_TEXT = 90_000;

/** Deliveries that a policy withholds, as questions: released when approved, else refused. */
export interface WithheldQuestions {
  /** Asks about all that are withheld now. One is asked about once. */
  askAll(): Promise<void>;
  /** A delivery was released or refused elsewhere: closes its question. */
  decidedElsewhere(envelope: Envelope): Promise<void>;
  /** Carries a decision out. */
  carryOut(decision: ApprovalDecision): Promise<void>;
}

/** The questions about what `tasks.withheld` lists. */
export function createWithheldQuestions({ tasks, log }: Pick<PluginContext, "tasks" | "log">, questions: Questions): WithheldQuestions {
  async function ask({ delivery, reason }: WithheldDelivery): Promise<void> {
    const { id, agent, kind, target, text, media = [] } = delivery;
    // The service's own words, questions like this one among them: a policy that withholds these would have them asked about without end.
    if (kind === "notice") return;
    const words = kind === "reply" ? "An answer" : "A message";
    const files = media.map(({ name, kind: sort }) => `[${sort}${name === undefined ? "" : ` ${name}`}]`);
    const shown = text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}\n[cut; all of it is in the trace]` : text;
    await questions.ask({
      kind: DELIVERY,
      title: `${words} to ${target.channel} ${target.chat} is withheld: ${reason}`,
      detail: [shown, ...files].join("\n"),
      digest: await questions.digest({ id, target, text, media: files }),
      requestedBy: agent === undefined ? "the delivery policy" : `agent ${agent}`,
      key: keyOf(id),
      choices: [
        { id: "approve", label: "Send it" },
        { id: "reject", label: "Do not send", rejects: true },
      ],
    });
  }

  /** Asked about by the pass before: where many wait, a further one costs no look at the questions of all others. */
  let asked: ReadonlySet<string> = new Set();
  let asking: Promise<void> | undefined;
  let again = false;

  async function pass(): Promise<void> {
    const seen = new Set<string>();
    for (let after: string | undefined; ; ) {
      const page = await tasks.withheld({ limit: PAGE, ...(after === undefined ? {} : { after }) });
      for (const one of page) {
        if (!asked.has(one.delivery.id)) await ask(one);
        seen.add(one.delivery.id);
      }
      if (page.length < PAGE) break;
      after = page.at(-1)?.delivery.id;
    }
    asked = seen;
  }

  async function passes(): Promise<void> {
    try {
      while (again) {
        again = false;
        await pass();
      }
    } finally {
      asking = undefined;
    }
  }

  return {
    askAll() {
      again = true;
      asking ??= passes();
      return asking;
    },
    async decidedElsewhere({ data }) {
      const question = await questions.keyed(keyOf(String(data?.delivery)));
      if (question !== undefined) await questions.withdraw(question.id, "it was decided elsewhere");
    },
    async carryOut({ id, key = "", state }) {
      const delivery = key.slice(keyOf("").length);
      const question = await questions.get(id);
      if (state === "withdrawn" || question === undefined) return;
      const done = state === "approved" ? await tasks.release(delivery) : await tasks.refuse(delivery, howOf(question));
      if (!done) log.info({ question: id, delivery }, "a withheld delivery was decided or gone before its question was");
    },
  };
}

const keyOf = (delivery: string): string => `${DELIVERY}:${delivery}`;
