import type { IncomingHttpHeaders } from 'node:http';
import { fault, monotonicMs } from '../../kernel';
import type { Caller } from '../../keys';
import { readBody } from '../../platform';
import type { HttpRequest } from '../../web';
import { type JsonBody, parseBody } from '../read-json-body';
import { fieldsOf, type Form, isForm, parseForm, withoutBoundary } from './form';

/** A request as it came: the bytes untouched, and what they say understood once beside them. */
export interface Inbound extends JsonBody {
  readonly requestId: string;
  readonly startedMs: number;
  readonly caller: Caller;
  readonly headers: IncomingHttpHeaders;
  /** Null where the body is JSON; else `body` holds the fields of the form. */
  readonly form: Form | null;
}

export async function intake(request: HttpRequest, caller: Caller, bodyLimit: number): Promise<Inbound> {
  const startedMs = monotonicMs();
  const { headers, requestId } = request;
  const contentType = headers['content-type'];
  if (isForm(contentType)) {
    const bytes = await readBody(request, bodyLimit);
    const form = parseForm(bytes, contentType);
    const kept = headers['idempotency-key'] === undefined ? bytes : withoutBoundary(form);
    return { requestId, startedMs, caller, headers, bytes: kept, body: fieldsOf(form), form };
  }
  if (contentType !== undefined && contentType !== JSON_TYPE && isOther.test(contentType)) {
    throw fault('unsupported_media_type', { message: 'The body is neither JSON nor a multipart form.' });
  }
  const bytes = await readBody(request, bodyLimit);
  const parsed = parseBody(bytes);
  const body = parsed instanceof Promise ? await parsed : parsed;
  return { requestId, startedMs, caller, headers, bytes, body, form: null };
}

const JSON_TYPE = 'application/json';
const isOther = /^(audio|video|image|multipart)\/|^application\/octet-stream/i;
