import { fromUnknown } from '../../kernel';
import { errorCode } from '../../platform';

/** A supplier cannot be used as it is described for one of these reasons, each with another remedy. */
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

/** Causes and several attempts may be wrapped so deep. */
const DEEPEST = 6;

type ErrorShape = Partial<Record<'message' | 'cause' | 'errors', unknown>>;

/** A call that ended without an answer is told by the codes of the error and of what caused it. */
export function connectionFailure(error: unknown): { failure: ProbeFailure; message: string } {
  for (const one of errorsIn(error, DEEPEST)) {
    const code = errorCode(one);
    const failure = TLS.test(code) ? 'tls' : byCode[code];
    if (failure !== undefined) return { failure, message: String(one.message) };
  }
  const { code, humanMessage: message } = fromUnknown(error);
  return { failure: code === 'upstream_timeout' ? 'timeout' : 'connection', message };
}

/** The error and what it came from, read by shape. */
function errorsIn(error: unknown, depth: number): ErrorShape[] {
  if (typeof error !== 'object' || error === null || depth === 0) return [];
  const { cause, errors }: ErrorShape = error;
  const inner = [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])];
  return [error, ...inner.flatMap((one) => errorsIn(one, depth - 1))];
}
