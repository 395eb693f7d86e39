import type { AttemptRecord } from '../../audit';
import type { Dropped } from '../../protocol';
import type { HttpRequest } from '../../web';
import type { ChosenRoute, TakenTokens } from '../admission';
import type { Attempts } from '../attempt';
import type { GatewayCall, Inbound } from '../intake';
import type { AnswerMasks } from '../masks';
import type { GatewayOperation } from '../operations/operation';
import type { EarlyHead } from '../reply/early-head';
import type { StreamSink } from '../reply/stream-sink';
import type { RequestTrace } from '../trace/request-trace';
import type { AnswerSample } from './answer-sampling';

export interface RequestProgress {
  readonly http: HttpRequest;
  readonly operation: GatewayOperation;
  readonly tries: AttemptRecord[];
  /** Null if telemetry is off. */
  readonly trace: RequestTrace | null;
  inbound: Inbound | null;
  call: GatewayCall | null;
  masks: AnswerMasks | null;
  auto: ChosenRoute | null;
  model: string;
  attempts: Attempts | null;
  early: EarlyHead<StreamSink<AnswerSample>> | null;
  dropped: readonly Dropped[];
  /** True if the request was charged and recorded despite having no response. */
  isSettled: boolean;
  /** Tokens taken from the key's rate limit; null if the key has no such limit. */
  tokens: TakenTokens | null;
}

export const createRequestProgress = (
  operation: GatewayOperation,
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
