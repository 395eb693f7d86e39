import { fault } from '../../../kernel';
import { checkForeground } from './limits';

/** Native bodies are forwarded without being interpreted; only these fields are checked. */
export function checkNative(body: Readonly<Record<string, unknown>>): void {
  const { stream, input } = body;
  if (stream !== true) {
    throw fault('invalid_request', {
      param: 'stream',
      message: 'stream must be true: answers on this route are streamed.',
    });
  }
  if (!Array.isArray(input)) {
    throw fault('invalid_input', { param: 'input', message: 'input must be a list of items.' });
  }
  checkForeground(body);
}
