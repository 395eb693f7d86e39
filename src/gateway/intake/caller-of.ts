import { fault } from '../../kernel';
import type { Caller } from '../../keys';
import type { HttpRequest } from '../../web';

/** The caller that a key guard let in. */
export function callerOf({ caller }: HttpRequest): Caller {
  if (caller === undefined) throw fault('missing_api_key');
  return caller;
}
