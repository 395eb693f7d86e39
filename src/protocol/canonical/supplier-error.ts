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

/** A supplier's words about our credential or account are for the log, never for a caller. */
class OwnTrouble extends Error {
  constructor(
    readonly kind: 'auth' | 'account',
    { type, code, reason }: SupplierError,
  ) {
    const names = [type, code, reason].map((name) => String(name ?? '')).filter((name) => NAME.test(name));
    super(names.length === 0 ? 'the supplier names no error' : [...new Set(names)].join(' '));
  }
}

/** The fault a caller sees. A supplier's complaint about us keeps its words to itself. */
export function supplierFault(error: SupplierError): Fault {
  const { kind, message, type, code, param, details } = error;
  if (kind === 'auth' || kind === 'account')
    return fault(codeOfKind[kind], { cause: new OwnTrouble(kind, error) });
  const options: FaultOptions = { details: { ...details, supplier: { message, type, code } } };
  if (kind === 'invalid' || kind === 'context_length') options.param = param;
  // A refusal of the content, not of the caller: agents take any 403 for a failed sign-in.
  if (kind === 'content_filter') options.status = 400;
  return fault(codeOfKind[kind], options);
}

/** Such a failure is our account's, which is spent or closed for every request. */
export const isAccountSpent = ({ options: { cause } }: Fault): boolean =>
  cause instanceof OwnTrouble && cause.kind === 'account';
