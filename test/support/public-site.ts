import { startTestApp, type TestApp } from './app';

/** The service with the models of the sandbox on sale; nothing asks them anything. */
export const startPublicSite = (environment: Record<string, string> = {}): Promise<TestApp> =>
  startTestApp({ sandboxUrl: 'http://127.0.0.1:9', environment });

export interface Read {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export async function readPage(
  app: TestApp,
  path: string,
  headers: Record<string, string> = { accept: 'text/html' },
): Promise<Read> {
  const answer = await fetch(app.url + path, { headers, redirect: 'manual' });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
