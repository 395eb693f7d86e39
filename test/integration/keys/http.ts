import type { TestApp } from '../../support/app';

export interface Answer<Body = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

interface Refusal {
  readonly error: { readonly code: string; readonly param?: string; readonly message: string };
}

const DEADLINE_MS = 10_000;

/** One JSON request with a key. */
export async function call<Body = Record<string, unknown>>(
  app: Pick<TestApp, 'url'>,
  key: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<Body>> {
  const answer = await fetch(app.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(DEADLINE_MS),
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json');
  return { status: answer.status, headers: answer.headers, body: (isJson ? JSON.parse(text) : text) as Body };
}

export const refusalOf = ({ status, body }: Answer): [number, string, string | undefined] => {
  const { code, param } = (body as unknown as Refusal).error;
  return [status, code, param];
};
