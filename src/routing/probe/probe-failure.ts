import { fromUnknown } from '../../kernel';
import { errorCode } from '../../platform';

/** Reason why a supplier cannot be used as configured; each has a different remedy. */
export type ProbeFailure =
  | 'address'
  | 'dns'
  | 'refused'
  | 'tls'
  | 'proxy'
  | 'timeout'
  | 'connection'
  | 'credentials'
  | 'model'
  | 'limited'
  | 'request'
  | 'supplier'
  | 'shape'
  | 'configuration';

const byCode: Readonly<Record<string, ProbeFailure>> = {
  ADDRESS_REFUSED: 'address',
  PROXY_FAILED: 'proxy',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ENODATA: 'dns',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ETIMEDOUT: 'timeout',
  SUPPLIER_DEADLINE: 'timeout',
  SUPPLIER_BROKEN_ANSWER: 'shape',
  EPROTO: 'tls',
};

const TLS = /^ERR_(?:SSL|TLS)|CERT|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH/;

const MAX_DEPTH = 6;

type NestedErrorFields = Partial<Record<'message' | 'cause' | 'errors', unknown>>;

/** Classifies a call that ended without a response by the codes of the error and its causes. */
export function connectionFailure(error: unknown): { failure: ProbeFailure; message: string } {
  for (const nested of errorsIn(error, MAX_DEPTH)) {
    const code = errorCode(nested);
    const failure = TLS.test(code) ? 'tls' : byCode[code];
    if (failure !== undefined) return { failure, message: String(nested.message) };
  }
  const { code, humanMessage: message } = fromUnknown(error);
  return { failure: code === 'upstream_timeout' ? 'timeout' : 'connection', message };
}

function errorsIn(error: unknown, depth: number): NestedErrorFields[] {
  if (typeof error !== 'object' || error === null || depth === 0) return [];
  const { cause, errors }: NestedErrorFields = error;
  const inner = [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])];
  return [error, ...inner.flatMap((one) => errorsIn(one, depth - 1))];
}
