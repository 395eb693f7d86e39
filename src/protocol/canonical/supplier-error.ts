import type { SupplierError } from '#extension';
import { type ErrorCode, type Fault, fault, type FaultInit } from '../../kernel';
import type { ErrorMeaning } from '../../vendors';

export type { SupplierError };

const codeByKind: Readonly<Record<ErrorMeaning, ErrorCode>> = {
  context_length: 'context_length_exceeded',
  content_filter: 'request_rejected',
  rate_limit: 'supplier_limit',
  auth: 'provider_unavailable',
  account: 'provider_unavailable',
  overloaded: 'upstream_unavailable',
  not_found: 'model_unavailable',
  invalid: 'invalid_request',
  unknown: 'upstream_error',
};

/** Matches an error name, not a sentence: sentences can repeat a credential or a caller's text. */
const NAME = /^[\w.:-]{1,64}$/;
/** Vendors repeat parts of a request in quotes or after a colon; the log message is cut there. */
const QUOTED_PART = /(?:(?<!\w)["'`]|:\s).*/s;

const isCallersMistake = (kind: ErrorMeaning): boolean =>
  kind === 'invalid' || kind === 'context_length' || kind === 'content_filter';

/** A problem of the supplier or of the operator's account. Logged as the cause and never shown to a caller. */
class SupplierTrouble extends Error {
  readonly kind: ErrorMeaning;

  constructor({ kind, type, code, reason, message }: SupplierError) {
    const names = [type, code, reason].map((name) => String(name ?? '')).filter((name) => NAME.test(name));
    // A message about the operator's credential can contain it.
    const text = kind === 'auth' || kind === 'account' ? '' : message.replace(QUOTED_PART, '').trim();
    super([...new Set(names), text].filter(Boolean).join(' ') || 'the supplier names no error');
    this.kind = kind;
  }
}

/** The fault as shown to a caller, with the supplier's message only if the caller caused it. */
export function supplierFault(error: SupplierError): Fault {
  const { kind, message, type, code, param, details } = error;
  if (!isCallersMistake(kind)) return fault(codeByKind[kind], { cause: new SupplierTrouble(error) });
  const options: FaultInit = { details: { ...details, supplier: { message, type, code } } };
  // A refusal of the content, not of the caller: agents interpret every 403 as a failed sign-in.
  if (kind === 'content_filter') options.status = 400;
  else options.param = param;
  return fault(codeByKind[kind], options);
}

/** Whether the failure concerns the operator's account, which is used up or closed for every request. */
export const isAccountSpent = ({ options: { cause } }: Fault): boolean =>
  cause instanceof SupplierTrouble && cause.kind === 'account';
