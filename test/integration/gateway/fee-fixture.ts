import { parseUsdPerMillion } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { FixedResponseSupplier } from './fixed-response-supplier';
import { TestCatalogue } from './test-catalogue';

/** Shared by the fee tests and set by the opening function below. */
export let app: TestApp;
export let supplier: FixedResponseSupplier;
let catalogue: TestCatalogue;
let modelCount = 0;

export async function openFeeFixture(): Promise<void> {
  supplier = await FixedResponseSupplier.start();
  app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', SHARED_CONTENT: 'vs_1' } });
  catalogue = new TestCatalogue(app);
  for (const [name, style, settings] of [
    ['chatty', 'openai-style', { profile: 'openai' }],
    ['wordy', 'messages-style', {}],
  ] as const) {
    await catalogue.provider({
      name,
      style,
      settings,
      baseUrl: supplier.url,
      regions: ['eu'],
      credentials: [{ label: 'one', kind: 'bearer', secret: 'sim-canary-of-ours' }],
    });
  }
}

export async function closeFeeFixture(): Promise<void> {
  await app.close();
  await supplier.stop();
}

export async function createModel(
  rates: NonNullable<Parameters<TestCatalogue['model']>[2]>,
  provider = 'chatty',
  kind: 'chat' | 'image' = 'chat',
): Promise<string> {
  const name = `fee-${(modelCount += 1)}`;
  await catalogue.model(
    name,
    [{ provider }],
    { input: parseUsdPerMillion('1'), output: parseUsdPerMillion('2'), ...rates },
    kind,
  );
  return name;
}

export async function sendRequest(path: string, body: object) {
  supplier.requests.length = 0;
  const answer = await fetch(`${app.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  const id = answer.headers.get('x-request-id');
  const [record] = await app.database.query<Record<string, unknown>>(
    'SELECT * FROM request_record WHERE request_id = $1',
    [id],
  );
  const error = answer.ok ? null : (JSON.parse(text) as { error: { code: string; message: string } }).error;
  return { status: answer.status, text, record, error };
}
