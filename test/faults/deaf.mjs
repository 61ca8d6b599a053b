/** An engine that ignores its signal for ever, and keeps a timer and a connection to `SVC_TEST_SILENT`, a server that says nothing. */
import { connect } from "node:net";

export default {
  kind: "tier",
  name: "deaf",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    ctx.provide.tier({
      name: "deaf",
      async *run() {
        const socket = connect(Number(process.env.SVC_TEST_SILENT), "127.0.0.1");
        socket.on("error", () => {});
        setInterval(() => {}, 1_000);
        yield { type: "text", text: "begun" };
        await new Promise(() => {});
      },
    });
  },
};
