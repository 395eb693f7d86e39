import type { IncomingHttpHeaders } from 'node:http';
import { type JsonObjectText, monotonicMs, type PriceFactor, readJsonObject } from '../../kernel';
import { type Caller, priceFactorAt } from '../../keys';
import { readBody, type Settings } from '../../platform';
import type { HttpRequest } from '../../web';
import { requireJson } from './read-json-body';
import { fieldsOf, type Form, isForm, parseForm, withoutBoundary } from '../media/form';

/** A received request: its bytes, and their parsed contents beside them. */
export interface Inbound extends JsonObjectText {
  readonly requestId: string;
  readonly clientRequestId: string | null;
  readonly startedMs: number;
  readonly caller: Caller;
  /** The caller pays this share of any price: pinned for the hold and the charge alike. */
  readonly priceFactor: PriceFactor;
  readonly headers: IncomingHttpHeaders;
  /** It is null where the body is JSON; else `body` holds the fields of the form. */
  readonly form: Form | null;
  /** The body holds what this `previous_response_id` stands for. */
  readonly previousResponseId?: string;
  /** The installation keeps no answers, whatever the request says. */
  readonly isNotKept?: true;
  /** The models of the earlier answers it refers to that hold something sealed. */
  readonly writers?: readonly string[];
  /** The models that made the tool calls of those answers, by the ids of the calls. */
  readonly callers?: ReadonlyMap<string, string>;
}

/** Returns a promise only for a form, or for a body that is late or large. */
export function inboundOf(
  request: HttpRequest,
  caller: Caller,
  settings: Settings,
): Inbound | Promise<Inbound> {
  const startedMs = monotonicMs();
  if (!isForm(request.headers['content-type'])) requireJson(request, settings);
  const bytes = readBody(request, settings.bodyLimitBytes);
  const inbound = (content: Content): Inbound => ({
    requestId: request.requestId,
    clientRequestId: request.clientRequestId,
    startedMs,
    caller,
    priceFactor: caller.priceFactors === null ? null : priceFactorAt(caller, Date.now()),
    headers: request.headers,
    bytes: content.bytes,
    body: content.body,
    members: content.members,
    isRounded: content.isRounded,
    form: content.form ?? null,
  });
  const content = bytes instanceof Promise ? bytes.then((late) => read(request, late)) : read(request, bytes);
  return content instanceof Promise ? content.then(inbound) : inbound(content);
}

type Content = JsonObjectText & { readonly form?: Form };

function read({ headers }: HttpRequest, bytes: Buffer): Content | Promise<Content> {
  const contentType = headers['content-type'];
  if (!isForm(contentType)) return readJsonObject(bytes);
  return parseForm(bytes, contentType).then((form) => ({
    bytes: headers['idempotency-key'] === undefined ? bytes : withoutBoundary(form),
    body: fieldsOf(form),
    members: [],
    isRounded: false,
    form,
  }));
}
