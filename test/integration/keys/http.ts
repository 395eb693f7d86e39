import type { TestApp } from '../../support/app';

export interface ApiResponse<Body = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

interface ApiErrorBody {
  readonly error: { readonly code: string; readonly param?: string; readonly message: string };
}

const DEADLINE_MS = 10_000;

/** Sends one JSON request with a key. */
export async function call<Body = Record<string, unknown>>(
  app: Pick<TestApp, 'url'>,
  key: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiResponse<Body>> {
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

export const apiErrorOf = ({ status, body }: ApiResponse): [number, string, string | undefined] => {
  const { code, param } = (body as unknown as ApiErrorBody).error;
  return [status, code, param];
};
