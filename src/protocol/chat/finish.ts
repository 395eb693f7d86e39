import { type Finish, finishOf, type UnifiedFinish } from '../canonical';

/** Reasons of answers that failed in the middle; DeepSeek sends the second when its servers are overloaded. */
const BROKEN_OFF: ReadonlySet<unknown> = new Set(['error', 'insufficient_system_resource']);

export const isBrokenOff = (reason: unknown): boolean => BROKEN_OFF.has(reason);

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
