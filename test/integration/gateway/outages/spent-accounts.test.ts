import { CatalogueService, CredentialEditor } from '#product/catalogue';
import { errorSigns } from '#product/vendors';
import { startTestApp, type TestApp } from '../../../support/app';
import { type Simulator, startSimulator } from '../../../support/simulator';
import { bodyOf, styleOf } from '../../../support/vendor-errors';
import { ModelShelf } from '../model-shelf';

const spent = errorSigns.filter((row) => row.means === 'account' && styleOf(row) !== 'gemini');
const answers = spent.map((row) => {
  const { vendor, match, status } = row;
  return [
    `${vendor} ${status} ${String(match)}`,
    { status, body: bodyOf(row), style: styleOf(row) },
  ] as const;
});
const balance = spent.find(({ source }) => source.endsWith('/66314'))!;

describe('an account at a supplier that is spent or closed', () => {
  let app: TestApp;
  let simulator: Simulator;
  let shelf: ModelShelf;
  let made = 0;

  beforeAll(async () => {
    simulator = await startSimulator({
      lanes: [
        { name: 'first', region: 'eu' },
        { name: 'second', region: 'eu' },
      ],
    });
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    shelf = new ModelShelf(app);
    await provider('healthy', 'openai-style', 'second');
  });
  beforeEach(async () => {
    await simulator.clearFaults();
    await simulator.clearRequests();
    app.log.splice(0);
  });
  afterAll(async () => {
    await app.close();
    await simulator.stop();
  });

  const provider = (name: string, style: string, lane = 'first'): Promise<void> =>
    shelf.provider({
      name,
      style,
      baseUrl: simulator.lanes.find((each) => each.name === lane)!.url,
      credentials: [
        { label: 'test', kind: style === 'messages-style' ? 'header' : 'bearer', secret: 'sim-test' },
      ],
    });
  /** Two models of one supplier, with a second lane or without. */
  async function models(style: string, others: readonly string[] = ['healthy']): Promise<[string, string]> {
    const supplier = `spent-${(made += 1)}`;
    await provider(supplier, style);
    const names: [string, string] = [`${supplier}-a`, `${supplier}-b`];
    for (const name of names) {
      const lanes = [supplier, ...others].map((each, priority) => ({ provider: each, priority }));
      await shelf.model(name, lanes);
    }
    return names;
  }
  const fails = (status: number, body: object): Promise<number> =>
    simulator.addFault({ match: { lane: 'first' }, fault: { kind: 'status', status, body } });
  const ask = (path: string, model: string, extra: object = {}): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hello' }],
        ...extra,
      }),
    });
  const asked = async (): Promise<string[]> => (await simulator.requests()).map(({ lane }) => lane);
  const alerts = (): string[] => app.log.filter((line) => line.includes('alert:'));

  test.each(answers)(
    '%s: the second lane answers, and the first rests',
    async (_name, { status, body, style }) => {
      const [model, sibling] = await models(style);
      await fails(status, body);
      const path = style === 'messages-style' ? '/v1/messages' : '/v1/chat/completions';
      const first = await ask(path, model);
      expect([first.status, first.headers.get('x-svc-failover')]).toEqual([200, 'true']);
      expect(await asked()).toEqual(['first', 'second']);
      // One credential serves both models: neither is asked again meanwhile.
      expect((await ask(path, model)).status).toBe(200);
      expect((await ask(path, sibling, { stream: true })).status).toBe(200);
      expect(await asked()).toEqual(['first', 'second', 'second', 'second']);
      expect(alerts()).toHaveLength(1);
      expect(alerts()[0]).toContain('spent or closed');
    },
  );

  test.each(['/v1/messages', '/v1/chat/completions'])(
    'alone, it tells the caller of %s nothing',
    async (path) => {
      const [model] = await models('messages-style', []);
      await fails(balance.status, bodyOf(balance));
      const answer = await ask(path, model);
      const text = await answer.text();
      expect([answer.status, text.includes('credit balance'), text.includes('Billing')]).toEqual([
        503,
        false,
        false,
      ]);
      expect(text).toContain('provider_unavailable');
      // The operator reads the supplier's name of the error. Its sentences may repeat a credential or a prompt.
      expect(alerts()[0]).toContain('"cause":"invalid_request_error"');
      expect(app.log.join('')).not.toContain('credit balance');
      const id = answer.headers.get('x-request-id');
      const [record] = await app.database.query<{ attempts: object }>(
        'SELECT attempts FROM request_record WHERE request_id = $1',
        [id],
      );
      expect(JSON.stringify(record)).not.toContain('credit');
    },
  );

  test("words that a caller wrote are the caller's mistake, and the lane serves on", async () => {
    const [model] = await models('messages-style');
    const message = `${balance.text!}: Extra inputs are not permitted`;
    await fails(400, { type: 'error', error: { type: 'invalid_request_error', message } });
    expect((await ask('/v1/messages', model)).status).toBe(400);
    await simulator.clearFaults();
    await simulator.clearRequests();
    expect((await ask('/v1/messages', model)).headers.get('x-svc-failover')).toBe('false');
    expect(alerts()).toEqual([]);
  });

  test('a new credential is tried at once', async () => {
    const [model] = await models('messages-style');
    await fails(balance.status, bodyOf(balance));
    await ask('/v1/messages', model);
    await simulator.clearFaults();
    await simulator.clearRequests();
    await ask('/v1/messages', model);
    expect(await asked()).toEqual(['second']);
    const editor = app.application.get(CredentialEditor, { strict: false });
    await app.database.transaction(async (tx) => {
      const [{ id }] = await tx.query<[{ id: number }]>('SELECT id FROM provider WHERE name = $1', [
        model.replace(/-a$/, ''),
      ]);
      await editor.put(tx, { providerId: id, label: 'new', kind: 'header', secret: 'sim-new' });
    });
    await app.application.get(CatalogueService).reload();
    await simulator.clearRequests();
    expect(
      (await ask('/v1/messages', model, { messages: [{ role: 'user', content: 'Another' }] })).headers.get(
        'x-svc-failover',
      ),
    ).toBe('false');
    expect(await asked()).toEqual(['first']);
  });
});
