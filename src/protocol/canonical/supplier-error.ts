import type { SupplierError } from '#extension';
import { type ErrorCode, type Fault, fault, type FaultOptions } from '../../kernel';
import type { ErrorMeaning } from '../../vendors';

export type { SupplierError };

const codeOfKind: Readonly<Record<ErrorMeaning, ErrorCode>> = {
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

/** A name that a vendor gives an error, not a sentence: sentences may repeat a credential or a caller's words. */
const NAME = /^[\w.:-]{1,64}$/;
/** Vendors repeat parts of a request in quotes or after a colon; the log stops there. */
const REPEATED = /(?:(?<!\w)["'`]|:\s).*/s;

const isCallersMistake = (kind: ErrorMeaning): boolean =>
  kind === 'invalid' || kind === 'context_length' || kind === 'content_filter';

/** What a supplier says of itself or of our account; the log prints it as the cause, and no caller reads it. */
class SupplierTrouble extends Error {
  readonly kind: ErrorMeaning;

  constructor({ kind, type, code, reason, message }: SupplierError) {
    const names = [type, code, reason].map((name) => String(name ?? '')).filter((name) => NAME.test(name));
    // A sentence about our credential may hold it.
    const words = kind === 'auth' || kind === 'account' ? '' : message.replace(REPEATED, '').trim();
    super([...new Set(names), words].filter(Boolean).join(' ') || 'the supplier names no error');
    this.kind = kind;
  }
}

/** The fault a caller sees; a supplier's wording is part of it only if the caller is at fault. */
export function supplierFault(error: SupplierError): Fault {
  const { kind, message, type, code, param, details } = error;
  if (!isCallersMistake(kind)) return fault(codeOfKind[kind], { cause: new SupplierTrouble(error) });
  const options: FaultOptions = { details: { ...details, supplier: { message, type, code } } };
  // A refusal of the content, not of the caller: agents take any 403 for a failed sign-in.
  if (kind === 'content_filter') options.status = 400;
  else options.param = param;
  return fault(codeOfKind[kind], options);
}

/** Such a failure is our account's, which is spent or closed for every request. */
export const isAccountSpent = ({ options: { cause } }: Fault): boolean =>
  cause instanceof SupplierTrouble && cause.kind === 'account';
