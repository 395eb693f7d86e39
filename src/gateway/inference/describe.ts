import { fault } from '../../kernel';
import type { Inbound } from './inbound';

/** What the gateway needs to know of a request; everything else is between the caller and the supplier. */
export interface Call {
  readonly model: string;
  readonly stream: boolean;
}

const MODEL_LENGTH = 256;

/** Reads the envelope by hand: a validator costs more here than the rest of the stage. */
export function describeCall({ body }: Inbound): Call {
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
  return { model, stream: stream === true };
}
