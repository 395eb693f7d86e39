import { fault } from '../../kernel';

/** What agents send is not understood here, only passed on; these two fields decide whether it can be. */
export function checkNative({ stream, input }: Readonly<Record<string, unknown>>): void {
  if (stream !== true) {
    throw fault('invalid_request', {
      param: 'stream',
      message: 'stream must be true: answers on this route are streamed.',
    });
  }
  if (!Array.isArray(input)) {
    throw fault('invalid_input', { param: 'input', message: 'input must be a list of items.' });
  }
}
