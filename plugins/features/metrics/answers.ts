import type { Answers } from "@svc/sdk";

const answers: Answers = { schemas: {}, routes: { "GET /metrics": [{ type: "text/plain" }, { status: 503, type: "text/plain" }] } };

export default answers;
