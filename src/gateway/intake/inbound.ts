import type { IncomingHttpHeaders } from 'node:http';
import {
  type MaybePromise,
  monotonicMs,
  type ParsedJsonObject,
  type PriceFactor,
  readJsonObject,
  whenReady,
} from '../../kernel';
import { type Caller, priceFactorAt } from '../../keys';
import { readBody, type Settings } from '../../platform';
import type { HttpRequest } from '../../web';
import { requireJson } from './read-json-body';
import { fieldsOf, type MultipartForm, isForm, parseForm, withoutBoundary } from '../media/multipart-form';

export interface Inbound extends ParsedJsonObject {
  readonly requestId: string;
  readonly clientRequestId: string | null;
  readonly startedMs: number;
  readonly caller: Caller;
  /** Share of the price that the caller pays, pinned for the hold and the charge. */
  readonly priceFactor: PriceFactor;
  readonly headers: IncomingHttpHeaders;
  /** Null if the body is JSON; otherwise `body` holds the fields of the form. */
  readonly form: MultipartForm | null;
  readonly previousResponseId?: string;
  /** Set if the installation stores no responses, whatever the request says. */
  readonly isStorageDisabled?: true;
  /** Models of the referenced responses that hold encrypted content. */
  readonly writers?: readonly string[];
  readonly callers?: ReadonlyMap<string, string>;
}

/** Returns a promise only for a form, or for a body that is large or still arriving. */
export function inboundOf(request: HttpRequest, caller: Caller, settings: Settings): MaybePromise<Inbound> {
  const startedMs = monotonicMs();
  if (!isForm(request.headers['content-type'])) requireJson(request, settings);
  const bytes = readBody(request, settings.bodyLimitBytes);
  const inbound = (content: InboundContent): Inbound => ({
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
  const content = whenReady(bytes, (body) => readContent(request, body));
  return whenReady(content, inbound);
}

type InboundContent = ParsedJsonObject & { readonly form?: MultipartForm };

function readContent({ headers }: HttpRequest, bytes: Buffer): MaybePromise<InboundContent> {
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
