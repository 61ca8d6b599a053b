/** What an isolated plugin's process may take of the daemon. Times in milliseconds. */
export interface IsolationLimits {
  /** Old space of its heap, in MiB. */
  readonly heapMb: number;
  /** The longest frame, in bytes. A file of 6 MB fits, as base64. */
  readonly frameBytes: number;
  /** Calls to it that may wait for an answer; one more fails at once. */
  readonly pending: number;
  /** Calls from it that may be under way; one more fails. Its own side lets far fewer out at once. */
  readonly serving: number;
  /** Frames from it that are no answers: the steady rate, and how many may come at once. Beyond it nothing is read for `pauseMs`. */
  readonly framesPerSecond: number;
  readonly frameBurst: number;
  readonly pauseMs: number;
  /** Pauses in a row after which it counts as a flood, and is ended. */
  readonly pauses: number;
  /** Bytes that may wait to be read by it. */
  readonly unreadBytes: number;
  /** Lines of its output that reach the log, in `outputWindowMs`; a longer one is cut. */
  readonly outputLines: number;
  readonly outputLineBytes: number;
  /** Bytes of its output in that time after which it is ended. */
  readonly outputBytes: number;
  readonly outputWindowMs: number;
  /** How often it is asked whether it is well, and how many of these questions in a row it may leave open. */
  readonly pingMs: number;
  readonly missedPings: number;
  /** How long a call may go on after its signal. */
  readonly abandonMs: number;
  /** The pause before it is started again: doubles with each end in a row, spread by up to a fifth. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Up for so long, it counts as well again. */
  readonly steadyMs: number;
  /** So many ends within `endsWindowMs`, and it is quarantined until `svc plugin retry`. */
  readonly ends: number;
  readonly endsWindowMs: number;
  /** A new process must be up within this time: imported, set up and started. */
  readonly upMs: number;
  /** On the way out: for its `stop`, for leaving by itself, and between SIGTERM and SIGKILL. */
  readonly stopMs: number;
  readonly leaveMs: number;
  readonly termMs: number;
}

/** The limits that hold unless a kernel is given others. */
export const ISOLATION_LIMITS: IsolationLimits = {
  heapMb: 256,
  frameBytes: 8 * 1_048_576,
  pending: 256,
  serving: 1_024,
  framesPerSecond: 2_000,
  frameBurst: 10_000,
  pauseMs: 250,
  pauses: 40,
  unreadBytes: 32 * 1_048_576,
  outputLines: 200,
  outputLineBytes: 4_096,
  outputBytes: 16 * 1_048_576,
  outputWindowMs: 10_000,
  pingMs: 1_000,
  missedPings: 5,
  abandonMs: 5_000,
  firstPauseMs: 1_000,
  longestPauseMs: 60_000,
  steadyMs: 60_000,
  ends: 10,
  endsWindowMs: 3_600_000,
  upMs: 20_000,
  stopMs: 5_000,
  leaveMs: 1_000,
  termMs: 1_000,
};
