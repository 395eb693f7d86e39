import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';

export let app: TestApp;
export let supplier: Simulator;

/** Starts the service with a simulated supplier behind the sandbox models. */
export async function openFixture(environment: Record<string, string> = {}): Promise<void> {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url, environment });
}

export async function closeFixture(): Promise<void> {
  await app.close();
  await supplier.stop();
}

export const post = (path: string, body: object, key = app.firstKeys?.demo): Promise<Response> =>
  fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

export async function recordOf(answer: Response): Promise<Record<string, unknown> | undefined> {
  const [row] = await app.database.query<Record<string, unknown>>(
    'SELECT * FROM request_record WHERE request_id = $1',
    [answer.headers.get('x-request-id')],
  );
  return row;
}
