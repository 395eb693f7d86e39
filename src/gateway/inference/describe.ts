import { fault } from '../../kernel';
import type { Inbound } from './inbound';

/** What the gateway needs to know of a request; everything else is between the caller and the supplier. */
export interface Call {
  readonly model: string;
  readonly stream: boolean;
  /** How many answers are asked for. */
  readonly choices: number;
  /** The caller's own bound on each answer; null when there is none. */
  readonly maxOutputTokens: number | null;
  /** More tokens than the input can have: what is held for. */
  readonly inputBound: number;
  /** About as many as it has: what is charged when nobody reports it. */
  readonly inputEstimate: number;
}

const MODEL_LENGTH = 256;
const MOST_CHOICES = 128;
const MOST_TOKENS = 100_000_000;
/** No tokenizer in use makes more of ordinary text, code or JSON than a token for every two bytes. */
const FEWEST_BYTES_PER_TOKEN = 2;
const USUAL_BYTES_PER_TOKEN = 4;

/** Reads the envelope by hand: a validator costs more here than the rest of the stage. */
export function describeCall({ body, bytes }: Inbound): Call {
  const { model, stream, messages } = body;
  if (model === undefined || model === null || model === '') throw fault('missing_model', { param: 'model' });
  if (typeof model !== 'string' || model.length > MODEL_LENGTH) {
    throw fault('invalid_request', { param: 'model', message: 'model must be the id of a model.' });
  }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw fault('invalid_request', { param: 'stream', message: 'stream must be true or false.' });
  }
  if (!Array.isArray(messages) || messages.length === 0) {
    throw fault('invalid_request', {
      param: 'messages',
      message: 'messages must be a list with at least one message.',
    });
  }
  return {
    model,
    stream: stream === true,
    choices: countOf(body.n, 'n', MOST_CHOICES) ?? 1,
    maxOutputTokens:
      countOf(body.max_completion_tokens, 'max_completion_tokens', MOST_TOKENS) ??
      countOf(body.max_tokens, 'max_tokens', MOST_TOKENS),
    inputBound: Math.ceil(bytes.length / FEWEST_BYTES_PER_TOKEN),
    inputEstimate: Math.ceil(bytes.length / USUAL_BYTES_PER_TOKEN),
  };
}

function countOf(value: unknown, param: string, most: number): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw fault('invalid_request', {
    param,
    message: `${param} must be a whole number from 1 to ${most.toLocaleString('en')}.`,
  });
}
