import { parseJsonText } from '../json/parse-json-text';
import { catalogue, type ErrorCode, errorTypeOf, isErrorCode } from './catalogue';
import {
  toValidationFault,
  type Fault,
  type FaultInit,
  isParameterFault,
  type ParameterLocation,
} from './fault';

export interface RenderedError {
  status: number;
  /** Names are in lower case. */
  headers: Record<string, string>;
  body: object;
}

/** The `error` object of every JSON surface. */
export interface ErrorFields {
  /** A code of the catalogue, or a supplier's own. */
  code: string;
  type: string;
  message: string;
  human_message: string;
  /** Null if no single field is invalid. */
  param: string | null;
  request_id: string;
  retryable: boolean;
  action_class: string;
  resets_at?: string;
  details?: unknown;
}

const bigintsAsText = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? value.toString() : value;

/** Details are free-form; a value that JSON cannot hold must not crash the error response. */
function plainDetails(details: Record<string, unknown>): unknown {
  try {
    return parseJsonText(JSON.stringify(details, bigintsAsText));
  } catch {
    return undefined;
  }
}

function fieldsOf(fault: Fault, requestId: string, type: string, humanMessage: string): ErrorFields {
  const { param, resetsAt, details } = fault.options;
  const code = codeOf(fault);
  const fields: ErrorFields = {
    code,
    type,
    message: `${code} - ${humanMessage}`,
    human_message: humanMessage,
    param: param ?? null,
    request_id: requestId,
    retryable: fault.entry.retryable,
    action_class: fault.entry.actionClass,
  };
  const resets = isoTime(resetsAt);
  if (resets !== undefined) fields.resets_at = resets;
  const plain = details && plainDetails(details);
  if (plain !== undefined) fields.details = plain;
  return fields;
}

const isoTime = (instant: Date | undefined): string | undefined =>
  instant === undefined || Number.isNaN(instant.getTime()) ? undefined : instant.toISOString();

/** Whole seconds, at least one; every 429 and 503 that is retryable has a value. */
function retryAfterOf(fault: Fault, status: number): number | undefined {
  const { retryAfterSeconds } = fault.options;
  if (retryAfterSeconds === undefined)
    return fault.entry.retryable && (status === 429 || status === 503) ? 1 : undefined;
  return Number.isFinite(retryAfterSeconds) ? Math.max(1, Math.ceil(retryAfterSeconds)) : 1;
}

function headersOf(fault: Fault, requestId: string, status: number): Record<string, string> {
  // SDKs read either `request-id` or `x-request-id`.
  const headers: Record<string, string> = { 'x-request-id': requestId, 'request-id': requestId };
  const retryAfter = retryAfterOf(fault, status);
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  // Clients retry a 401, a 409 or a 500 unless told not to.
  if (!fault.entry.retryable) headers['x-should-retry'] = 'false';
  return headers;
}

const CODE = /^[a-z][a-z0-9_]{0,63}$/;
const types: ReadonlySet<string> = new Set([...catalogue.values()].map(({ type }) => type));
/**
 * Codes that are less specific than a supplier's own. `context_length_exceeded` is not among them: clients act on it.
 */
const generalCodes: ReadonlySet<ErrorCode> = new Set([
  'invalid_request',
  'request_rejected',
  'request_too_large',
]);

/** A supplier's code is passed on if it has our format and no meaning here. */
function codeOf({ code, options }: Fault): string {
  if (options.sentCode !== undefined) return options.sentCode;
  const supplierCode = generalCodes.has(code) ? supplierOf(options).code : undefined;
  const isFree =
    typeof supplierCode === 'string' &&
    CODE.test(supplierCode) &&
    !isErrorCode(supplierCode) &&
    !types.has(supplierCode);
  return isFree ? supplierCode : code;
}

function supplierOf({ details }: FaultInit): { message?: unknown; code?: unknown } {
  const supplier = details?.supplier;
  return typeof supplier === 'object' && supplier !== null ? supplier : { message: supplier };
}

/** Clients show only this text and recognise some failures by it, so the supplier's wording is included. */
function withSupplierWording(fault: Fault): string {
  const wording = supplierWording(fault);
  return wording === null ? fault.humanMessage : `${fault.humanMessage} ${wording}`;
}

function supplierWording({ options }: Fault): string | null {
  const wording = supplierOf(options).message;
  return typeof wording === 'string' && wording !== '' ? wording : null;
}

export const gatewayError = (fault: Fault, requestId: string): ErrorFields =>
  fieldsOf(fault, requestId, errorTypeOf(fault.status), withSupplierWording(fault));

export function renderGateway(fault: Fault, requestId: string): RenderedError {
  return {
    status: fault.status,
    headers: headersOf(fault, requestId, fault.status),
    body: { error: gatewayError(fault, requestId) },
  };
}

/** Error types that clients of the messages dialect know. */
function messagesTypeOf(status: number): string {
  if (status === 409) return 'invalid_request_error';
  if (status === 413) return 'request_too_large';
  return errorTypeOf(status);
}

export interface MessagesErrorBody {
  type: 'error';
  error: ErrorFields;
  request_id: string;
}

export function messagesError(fault: Fault, requestId: string): MessagesErrorBody {
  const error = fieldsOf(fault, requestId, messagesTypeOf(fault.status), withSupplierWording(fault));
  const wording = supplierWording(fault);
  // Claude Code shortens the conversation if the message begins with these words.
  if (wording !== null && /^input is too long/i.test(wording)) error.message = wording;
  return { type: 'error', error, request_id: requestId };
}

export function renderMessages(fault: Fault, requestId: string): RenderedError {
  return {
    status: fault.status,
    headers: headersOf(fault, requestId, fault.status),
    body: messagesError(fault, requestId),
  };
}

/** The gateway rejects invalid values with 400, the portal with 422. */
export const portalStatusOf = (fault: Fault): number => (isParameterFault(fault) ? 422 : fault.status);

/** Renders JSON for the portal: the fields that older clients read, plus those of the gateway. */
export function renderPortal(
  problem: Fault,
  requestId: string,
  locationOf: (name: string) => ParameterLocation = () => 'body',
): RenderedError {
  const fault = toValidationFault(problem, locationOf);
  const status = portalStatusOf(fault);
  const { type: _category, ...fields } = fieldsOf(fault, requestId, '', fault.humanMessage);
  return {
    status,
    headers: headersOf(fault, requestId, status),
    body: {
      error: fault.humanMessage,
      detail: (status === 422 && fault.options.details?.['errors']) || fault.humanMessage,
      ...fields,
    },
  };
}

export interface ErrorPageModel {
  status: number;
  code: ErrorCode;
  humanMessage: string;
  action: string;
  retryable: boolean;
  retryAfterSeconds: number | null;
  resetsAt: string | null;
  requestId: string;
  headers: Record<string, string>;
}

export function renderPageModel(fault: Fault, requestId: string): ErrorPageModel {
  const status = portalStatusOf(fault);
  return {
    status,
    code: fault.code,
    humanMessage: fault.humanMessage,
    action: fault.entry.action,
    retryable: fault.entry.retryable,
    retryAfterSeconds: retryAfterOf(fault, status) ?? null,
    resetsAt: isoTime(fault.options.resetsAt) ?? null,
    requestId,
    headers: headersOf(fault, requestId, status),
  };
}
