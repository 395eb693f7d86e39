import type { AttemptRecord } from '../../audit';
import type { Dropped } from '../../protocol';
import type { HttpRequest } from '../../web';
import type { ChosenRoute, TakenTokens } from '../admission';
import type { Attempts } from '../attempt';
import type { Call, Inbound } from '../intake';
import type { AnswerMasks } from '../masks';
import type { Operation } from '../operations/operation';
import type { EarlyHead } from '../reply/early-head';
import type { StreamSink } from '../reply/stream-sink';
import type { RequestTrace } from '../trace/request-trace';
import type { AnswerSample } from './answer-sampling';

/** The progress of a request: the data for its log line, metrics and record if it fails. */
export interface RequestProgress {
  readonly http: HttpRequest;
  readonly operation: Operation;
  readonly tries: AttemptRecord[];
  /** It is null where no telemetry is sent. */
  readonly trace: RequestTrace | null;
  /** It is null until it was received. */
  inbound: Inbound | null;
  /** It is null until it was understood. */
  call: Call | null;
  /** The masks that its answer passes; null where there are none. */
  masks: AnswerMasks | null;
  /** It is null where the request names its model. */
  auto: ChosenRoute | null;
  /** The model that answers it; empty until it is known. */
  model: string;
  /** The tries at its present model; null before any. */
  attempts: Attempts | null;
  /** A stream has it from the moment its suppliers are asked. */
  early: EarlyHead<StreamSink<AnswerSample>> | null;
  /** The lane that was tried last did not get these parts of the request. */
  dropped: readonly Dropped[];
  /** Charged and recorded, although there was no answer. */
  isSettled: boolean;
  /** The request took these of its key's tokens; null where the key has no such limit. */
  tokens: TakenTokens | null;
}

export const begun = (
  operation: Operation,
  http: HttpRequest,
  trace: RequestTrace | null,
): RequestProgress => ({
  http,
  operation,
  tries: [],
  trace,
  inbound: null,
  call: null,
  masks: null,
  auto: null,
  model: '',
  attempts: null,
  early: null,
  dropped: [],
  isSettled: false,
  tokens: null,
});
