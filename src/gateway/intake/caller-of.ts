import { fault } from '../../kernel';
import type { Caller } from '../../keys';
import type { HttpRequest } from '../../web';

export function callerOf({ caller }: HttpRequest): Caller {
  if (caller === undefined) throw fault('missing_api_key');
  return caller;
}
