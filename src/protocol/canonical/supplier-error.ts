import { type ErrorCode, type Fault, fault, type FaultOptions } from '../../kernel';
import { entryOf } from './fields';

export type SupplierErrorKind =
  | 'context_length'
  | 'content_filter'
  | 'rate_limit'
  | 'auth'
  | 'overloaded'
  | 'not_found'
  | 'invalid'
  | 'unknown';

/** A supplier's error, independent of the HTTP status. */
export interface SupplierError {
  readonly kind: SupplierErrorKind;
  /** The supplier's own words. */
  readonly message: string;
  readonly type?: string;
  readonly code?: string;
  readonly param?: string;
  /** Structured facts that clients act on, such as an unsupported thread. */
  readonly details?: Record<string, unknown>;
  readonly raw: unknown;
}

const kindOfWord: Readonly<Record<string, SupplierErrorKind>> = {
  context_length_exceeded: 'context_length',
  string_above_max_length: 'context_length',
  content_filter: 'content_filter',
  content_policy_violation: 'content_filter',
  invalid_prompt: 'content_filter',
  rate_limit_exceeded: 'rate_limit',
  rate_limit_error: 'rate_limit',
  tokens: 'rate_limit',
  requests: 'rate_limit',
  // A spent budget with the supplier is ours to mend, like a bad credential.
  insufficient_quota: 'auth',
  billing_error: 'auth',
  invalid_api_key: 'auth',
  authentication_error: 'auth',
  permission_error: 'auth',
  overloaded_error: 'overloaded',
  server_is_overloaded: 'overloaded',
  server_error: 'overloaded',
  api_error: 'overloaded',
  service_unavailable: 'overloaded',
  timeout_error: 'overloaded',
  model_not_found: 'not_found',
  not_found_error: 'not_found',
  request_too_large: 'invalid',
  invalid_request_error: 'invalid',
  invalid_value: 'invalid',
  unknown_parameter: 'invalid',
};
const kindOfWording: readonly (readonly [RegExp, SupplierErrorKind])[] = [
  [
    /prompt is too long|maximum context length|context (window|length)|too many (input )?tokens/i,
    'context_length',
  ],
  [/content filter|content management policy|usage polic|safety system/i, 'content_filter'],
  [/rate limit|too many requests/i, 'rate_limit'],
  [/overloaded|temporarily unavailable|at capacity/i, 'overloaded'],
];

/** The wording is asked only where the words are general: suppliers put an overflow under "invalid request". */
export function kindOf(
  type: string | undefined,
  code: string | undefined,
  message: string,
): SupplierErrorKind {
  const named = entryOf(kindOfWord, code ?? '') ?? entryOf(kindOfWord, type ?? '');
  if (named !== undefined && named !== 'invalid') return named;
  return kindOfWording.find(([pattern]) => pattern.test(message))?.[1] ?? named ?? 'unknown';
}

const codeOfKind: Readonly<Record<SupplierErrorKind, ErrorCode>> = {
  context_length: 'context_length_exceeded',
  content_filter: 'request_rejected',
  rate_limit: 'supplier_limit',
  auth: 'provider_unavailable',
  overloaded: 'upstream_unavailable',
  not_found: 'model_unavailable',
  invalid: 'invalid_request',
  unknown: 'upstream_error',
};

/** The fault a caller sees. A supplier's complaint about our credential keeps its words to itself. */
export function supplierFault(error: SupplierError): Fault {
  const { kind, message, type, code, param, details } = error;
  const options: FaultOptions = {};
  if (kind !== 'auth') options.details = { ...details, supplier: { message, type, code } };
  if (kind === 'invalid' || kind === 'context_length') options.param = param;
  // A refusal of the content, not of the caller: agents take any 403 for a failed sign-in.
  if (kind === 'content_filter') options.status = 400;
  return fault(codeOfKind[kind], options);
}
