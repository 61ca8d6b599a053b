import { errorTable } from "@svc/sdk";

/** Errors of calls: code to [HTTP status, message]. `{name}` is filled from the facts. */
export const ERRORS = {
  SVC_CALLS_UNKNOWN: [404, "There is no call '{id}'; see svc call list."],
  SVC_CALLS_PERSON: [404, "There is nobody to ring as '{to}'. Agents: {agents}. Chats of people: {chats}."],
  SVC_CALLS_OF_PEER: [404, "A peer calls agents of this daemon, and '{to}' is none; people and cameras are asked for here alone."],
  SVC_CALLS_MEDIA: [409, "Calls need the channel webrtc, which does not run: set channels.webrtc.enabled to true; if it is, see svc plugin doctor."],
  SVC_CALLS_BOT: [409, "No agent takes part in calls: set channels.webrtc.bot.enabled to true."],
  SVC_CALLS_AGENT: [400, "Which agent: name it, or set channels.webrtc.bot.defaultAgentId."],
  SVC_CALLS_CALLER: [403, "'{caller}' may not call here; an operator adds it to channels.webrtc.allowedCallers."],
  SVC_CALLS_NOT_ALLOWED: [403, "The agent '{agent}' may ring nobody; an operator adds it to calls.allow."],
  SVC_CALLS_OF_AGENT: [403, "A task of the agent '{agent}' rings in its own name alone, and rings people."],
  SVC_CALLS_HOUR: [429, "{used} calls and camera asks were made in the last hour, and calls.maxPerHour is {most}; the next one may ring at {at}."],
  SVC_CALLS_BUSY: [429, "{most} calls are open at once; end one first: svc call list."],
  SVC_CALLS_LINK: [410, "This link was used before or has run out; ask for another call."],
  SVC_CALLS_BEARER: [401, "This page has not joined the call; open its link again."],
  SVC_CALLS_FOREIGN: [403, "What was sent belongs to another call."],
  SVC_CALLS_ANSWERED: [409, "Call {id} is answered already{by}."],
  SVC_CALLS_NOT_RUNNING: [409, "Call {id} is not answered yet."],
  SVC_CALLS_OVER: [410, "Call {id} is over: {how}."],
  SVC_CALLS_ELSEWHERE: [409, "Call {id} is served by another daemon that shares this store; ask that one."],
  SVC_CALLS_OFFER: [400, "This is no offer of a call: {reason}."],
  SVC_CALLS_CONNECTION: [502, "No connection for this call: {reason}"],
  SVC_CALLS_CANDIDATES: [429, "Call {id} has had {most} candidates; it takes no more."],
  SVC_CALLS_RESTARTS: [429, "Call {id} has taken {most} ways through the network; it takes no more. Call again."],
  SVC_CALLS_CAMERA: [409, "Call {id} is no camera session."],
  SVC_CALLS_FRAME_UNASKED: [409, "Nobody has asked for frame {n} of this session, or it was asked for too long ago."],
  SVC_CALLS_FRAMES: [429, "{most} pictures of this session wait for the agent; ask again when it has looked at them."],
  SVC_CALLS_FRAME: [400, "This is no frame: {reason}."],
  SVC_CALLS_FRAME_SIZE: [413, "The frame has {width} x {height} pixels; channels.webrtc.camera.bot.maxFrameEdge is {edge}: scale it down before it is sent."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** Makes the error of a code, its message filled from the facts. */
export const fail = errorTable(ERRORS);
