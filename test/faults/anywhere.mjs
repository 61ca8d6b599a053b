/** An engine with sessions that every daemon can go on with. */
import { enginePlugin, shared } from "./native.mjs";

export default enginePlugin("anywhere", shared, { sessionsAnywhere: true });
