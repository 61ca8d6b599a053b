// A daemon that asks each chat of a list one question and keeps the first answer: `node choice-daemon.mjs <svc.json> <chat>...`.
import { createKernel } from "@svc/kernel";

const [, , config, ...chats] = process.argv;
const folder = (name) => new URL(`../../plugins/${name}`, import.meta.url).pathname;
const CHOICES = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];

const asker = {
  kind: "feature",
  name: "asker",
  version: "1.0.0",
  svc: "*",
  capabilities: ["store", "tasks"],
  setup(ctx) {
    const questions = ctx.store.collection("questions");
    const decided = ctx.store.collection("decided");
    ctx.hooks.inbound.tap(async ({ choice, sender }) => {
      if (choice === undefined) return undefined;
      const answer = { id: choice.id, by: sender.id };
      const first = await decided.put(choice.delivery, answer, "absent").then(
        () => answer,
        async () => (await decided.get(choice.delivery)).value,
      );
      await ctx.tasks.closeChoices(choice.delivery, `${first.id} by ${first.by}`);
      return { reject: `answered with ${choice.id}` };
    });
    return {
      async start() {
        for (const chat of chats) {
          if ((await questions.get(chat)) !== undefined) continue;
          const { id } = await ctx.tasks.deliver({
            kind: "proactive",
            target: { channel: "botmsg", account: "main", chat },
            text: `Question to ${chat}`,
            choices: CHOICES,
          });
          await questions.put(chat, { id });
        }
      },
    };
  },
};

const kernel = await createKernel({
  config,
  known: [folder("channels/botmsg"), folder("tiers/local"), folder("stores/sqlite")],
  plugins: [asker],
  log: { level: "warn", destination: "stderr" },
});
await kernel.start();
process.send?.("ready");
