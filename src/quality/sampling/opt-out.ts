import type { IncomingHttpHeaders } from 'node:http';
import type { JsonFields } from '../../kernel';

interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonFields;
}

export function isOptedOut({ headers, body }: ReceivedRequest): boolean {
  if (body.store === false) return true;
  if (/\bno-store\b/i.test(headers['cache-control'] ?? '')) return true;
  const { metadata } = body;
  const noEval: unknown =
    typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, 'no_eval') : undefined;
  // Some dialects allow only strings in metadata.
  return noEval === true || noEval === 'true';
}
