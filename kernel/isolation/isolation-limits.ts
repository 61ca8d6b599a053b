/** Limits of an isolated plugin's process. Times in milliseconds. */
export interface IsolationLimits {
  /** Old space of its heap, in MiB. */
  readonly heapMb: number;
  /** The longest frame, in bytes. A file of 6 MB fits, as base64. */
  readonly frameBytes: number;
  /** Calls to it that may wait for an answer; one more fails at once. */
  readonly pending: number;
  /** Maximum number of concurrent calls from the process; one more fails. Its own side allows far fewer at once. */
  readonly serving: number;
  /** Rate limit of frames from the process other than answers: frames per second, and the burst. Beyond it reading pauses for `pauseMs`. */
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
  /** Interval of health pings, and the number of consecutive unanswered pings tolerated. */
  readonly pingMs: number;
  readonly missedPings: number;
  /** Time for which a call may continue after its signal aborted. */
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
  /** Timeouts of a shutdown: for its `stop`, for its own exit, and between SIGTERM and SIGKILL. */
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
