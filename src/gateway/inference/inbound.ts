import type { IncomingHttpHeaders } from 'node:http';
import { fault, monotonicMs } from '../../kernel';
import type { Caller } from '../../keys';
import { readBody } from '../../platform';
import type { HttpRequest } from '../../web';
import { type JsonBody, readJsonBody } from '../read-json-body';
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
  const read = await readEither(request, bodyLimit);
  return { requestId: request.requestId, startedMs, caller, headers: request.headers, ...read };
}

async function readEither(
  request: HttpRequest,
  bodyLimit: number,
): Promise<Pick<Inbound, 'bytes' | 'body' | 'form'>> {
  const contentType = request.headers['content-type'];
  if (isForm(contentType)) {
    const bytes = await readBody(request, bodyLimit);
    const form = parseForm(bytes, contentType);
    const isRepeatable = request.headers['idempotency-key'] !== undefined;
    return { bytes: isRepeatable ? withoutBoundary(form) : bytes, body: fieldsOf(form), form };
  }
  if (
    contentType !== undefined &&
    /^(audio|video|image|multipart)\/|^application\/octet-stream/i.test(contentType)
  ) {
    throw fault('unsupported_media_type', { message: 'The body is neither JSON nor a multipart form.' });
  }
  return { ...(await readJsonBody(request, bodyLimit)), form: null };
}
