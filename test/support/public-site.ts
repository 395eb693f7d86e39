import { startTestApp, type TestApp } from './app';

/** Starts the service with sandbox models for sale; no test calls them. */
export const startPublicSite = (environment: Record<string, string> = {}): Promise<TestApp> =>
  startTestApp({ sandboxUrl: 'http://127.0.0.1:9', environment });

export interface PageResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export async function fetchPage(
  app: TestApp,
  path: string,
  headers: Record<string, string> = { accept: 'text/html' },
): Promise<PageResponse> {
  const answer = await fetch(app.url + path, { headers, redirect: 'manual' });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
