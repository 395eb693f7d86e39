import { subscribe } from 'node:diagnostics_channel';

/** A request sent by this process, and the status of its response. */
export interface RecordedExchange {
  readonly method: string;
  /** Without the query string. */
  readonly path: string;
  readonly status: number;
}

interface UndiciHeadersMessage {
  readonly request: { readonly origin: unknown; readonly method: string; readonly path: string };
  readonly response: { readonly statusCode: number };
}

const exchanges = new Map<string, RecordedExchange[]>();

// Records every fetch of this process, so that no scenario can omit or invent a request.
subscribe('undici:request:headers', (message) => {
  const { request, response } = message as UndiciHeadersMessage;
  recordExchange(String(request.origin), request.method, request.path, response.statusCode);
});

/** All exchanges with an origin so far; the list grows. */
export function exchangesWith(url: string): readonly RecordedExchange[] {
  return listOf(url);
}

/** Records requests that fetch cannot send. */
export function recordExchange(url: string, method: string, target: string, status: number): void {
  const { pathname: path } = new URL(target, url);
  listOf(url).push({ method, path, status });
}

function listOf(url: string): RecordedExchange[] {
  const { origin } = new URL(url);
  const existingExchanges = exchanges.get(origin) ?? [];
  exchanges.set(origin, existingExchanges);
  return existingExchanges;
}
