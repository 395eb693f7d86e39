import { type Finish, finishOf, type UnifiedFinish } from '../canonical';

/** Finish reasons of responses that failed midway; DeepSeek sends the second when its servers are overloaded. */
const FAILURE_REASONS: ReadonlySet<unknown> = new Set(['error', 'insufficient_system_resource']);

export const isFailure = (reason: unknown): boolean => FAILURE_REASONS.has(reason);

const UNIFIED: Readonly<Record<string, UnifiedFinish>> = {
  stop: 'stop',
  eos: 'stop',
  length: 'length',
  model_length: 'context-length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  content_filter: 'content-filter',
};

const RAW: Readonly<Record<UnifiedFinish, string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-length': 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  pause: 'stop',
  unknown: 'stop',
};

export const readFinish = (raw: string | null): Finish => finishOf(UNIFIED, raw);

export const writeFinish = ({ unified }: Finish): string => RAW[unified];
