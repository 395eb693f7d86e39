import { type Finish, finishOf, type UnifiedFinish } from '../canonical';

const UNIFIED: Readonly<Record<string, UnifiedFinish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-length',
  tool_use: 'tool-calls',
  refusal: 'content-filter',
  pause_turn: 'pause',
};

const RAW: Readonly<Record<UnifiedFinish, string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-length': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  pause: 'pause_turn',
  unknown: 'end_turn',
};

export const readFinish = (raw: string | null): Finish => finishOf(UNIFIED, raw);

/** A refusal in text ends with "refusal" here, independent of the supplier's own reason. */
export const writeFinish = ({ unified }: Finish, hasRefusal: boolean): string =>
  hasRefusal && unified === 'stop' ? 'refusal' : RAW[unified];
