import { subscribe } from 'node:diagnostics_channel';

/** A request that this process has sent, and how it was answered. */
export interface Exchange {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
}

interface Heard {
  readonly request: { readonly origin: unknown; readonly method: string; readonly path: string };
  readonly response: { readonly statusCode: number };
}

const exchanges = new Map<string, Exchange[]>();

// Every fetch of this process is told here, so no scenario can leave one out or make one up.
subscribe('undici:request:headers', (message) => {
  const { request, response } = message as Heard;
  noteExchange(String(request.origin), request.method, request.path, response.statusCode);
});

/** All that an address has answered so far; the list grows. */
export function exchangesWith(url: string): readonly Exchange[] {
  return listOf(url);
}

/** For requests that fetch cannot send. */
export function noteExchange(url: string, method: string, target: string, status: number): void {
  const { pathname: path } = new URL(target, url);
  listOf(url).push({ method, path, status });
}

function listOf(url: string): Exchange[] {
  const { origin } = new URL(url);
  const known = exchanges.get(origin) ?? [];
  exchanges.set(origin, known);
  return known;
}
