import type { IncomingHttpHeaders } from 'node:http';
import { fault, type JsonObjectText, monotonicMs, readJsonObject } from '../../kernel';
import type { Caller } from '../../keys';
import { readBody } from '../../platform';
import type { HttpRequest } from '../../web';
import { fieldsOf, type Form, isForm, parseForm, withoutBoundary } from './form';

/** A request as it came: the bytes untouched, and what they say understood once beside them. */
export interface Inbound extends JsonObjectText {
  readonly requestId: string;
  readonly startedMs: number;
  readonly caller: Caller;
  readonly headers: IncomingHttpHeaders;
  /** Null where the body is JSON; else `body` holds the fields of the form. */
  readonly form: Form | null;
  /** What `previous_response_id` said, once the body holds what it stands for. */
  readonly previousResponseId?: string;
}

/** Only a form, and a body that is late or large, makes it a promise. */
export function intake(request: HttpRequest, caller: Caller, bodyLimit: number): Inbound | Promise<Inbound> {
  const startedMs = monotonicMs();
  const { headers, requestId } = request;
  const contentType = headers['content-type'];
  const envelope = { requestId, startedMs, caller, headers };
  const isNeither = contentType !== undefined && contentType !== JSON_TYPE && isOther.test(contentType);
  if (isNeither && !isForm(contentType)) {
    throw fault('unsupported_media_type', { message: 'The body is neither JSON nor a multipart form.' });
  }
  const bytes = readBody(request, bodyLimit);
  return bytes instanceof Promise ? bytes.then((late) => read(envelope, late)) : read(envelope, bytes);
}

type Envelope = Pick<Inbound, 'requestId' | 'startedMs' | 'caller' | 'headers'>;

function read(envelope: Envelope, bytes: Buffer): Inbound | Promise<Inbound> {
  const { headers } = envelope;
  const contentType = headers['content-type'];
  if (contentType !== JSON_TYPE && isForm(contentType)) return readForm(envelope, bytes, contentType);
  const text = readJsonObject(bytes);
  return text instanceof Promise
    ? text.then((late) => ({ ...envelope, ...late, form: null }))
    : { ...envelope, ...text, form: null };
}

async function readForm(envelope: Envelope, bytes: Buffer, contentType: string): Promise<Inbound> {
  const form = await parseForm(bytes, contentType);
  const kept = envelope.headers['idempotency-key'] === undefined ? bytes : withoutBoundary(form);
  return { ...envelope, bytes: kept, body: fieldsOf(form), members: [], form };
}

const JSON_TYPE = 'application/json';
const isOther = /^(audio|video|image|multipart)\/|^application\/octet-stream/i;
