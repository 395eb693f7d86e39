import { CatalogueService, CredentialEditor } from '#product/catalogue';
import { errorSigns } from '#product/vendors';
import { startTestApp, type TestApp } from '../../../support/app';
import { type Simulator, startSimulator } from '../../../support/simulator';
import { bodyOf, styleOf } from '../../../support/vendor-errors';
import { TestCatalogue } from '../test-catalogue';

const accountErrors = errorSigns.filter((row) => row.means === 'account' && styleOf(row) !== 'gemini');
const answers = accountErrors.map((row) => {
  const { vendor, match, status } = row;
  return [
    `${vendor} ${status} ${String(match)}`,
    { status, body: bodyOf(row), style: styleOf(row) },
  ] as const;
});
const balance = accountErrors.find(({ source }) => source.endsWith('/66314'))!;

describe('Exhausted or closed supplier account', () => {
  let app: TestApp;
  let simulator: Simulator;
  let catalogue: TestCatalogue;
  let supplierCount = 0;

  beforeAll(async () => {
    simulator = await startSimulator({
      lanes: [
        { name: 'first', region: 'eu' },
        { name: 'second', region: 'eu' },
      ],
    });
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    catalogue = new TestCatalogue(app);
    await addProvider('healthy', 'openai-style', 'second');
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

  const addProvider = (name: string, style: string, lane = 'first'): Promise<void> =>
    catalogue.provider({
      name,
      style,
      baseUrl: simulator.lanes.find((each) => each.name === lane)!.url,
      credentials: [
        { label: 'test', kind: style === 'messages-style' ? 'header' : 'bearer', secret: 'sim-test' },
      ],
    });
  /** Adds two models of one supplier, with or without a second lane. */
  async function addModels(
    style: string,
    others: readonly string[] = ['healthy'],
  ): Promise<[string, string]> {
    const supplier = `spent-${(supplierCount += 1)}`;
    await addProvider(supplier, style);
    const names: [string, string] = [`${supplier}-a`, `${supplier}-b`];
    for (const name of names) {
      const lanes = [supplier, ...others].map((each, priority) => ({ provider: each, priority }));
      await catalogue.model(name, lanes);
    }
    return names;
  }
  const addFault = (status: number, body: object): Promise<number> =>
    simulator.addFault({ match: { lane: 'first' }, fault: { kind: 'status', status, body } });
  const sendRequest = (path: string, model: string, extra: object = {}): Promise<Response> =>
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
  const calledLanes = async (): Promise<string[]> => (await simulator.requests()).map(({ lane }) => lane);
  const alerts = (): string[] => app.log.filter((line) => line.includes('alert:'));

  test.each(answers)(
    '%s fails over and opens every lane of the account',
    async (_name, { status, body, style }) => {
      const [model, sibling] = await addModels(style);
      await addFault(status, body);
      const path = style === 'messages-style' ? '/v1/messages' : '/v1/chat/completions';
      const first = await sendRequest(path, model);
      expect([first.status, first.headers.get('x-svc-failover')]).toEqual([200, 'true']);
      expect(await calledLanes()).toEqual(['first', 'second']);
      // Both models use the same credential, so neither is called again meanwhile.
      expect((await sendRequest(path, model)).status).toBe(200);
      expect((await sendRequest(path, sibling, { stream: true })).status).toBe(200);
      expect(await calledLanes()).toEqual(['first', 'second', 'second', 'second']);
      expect(alerts()).toHaveLength(1);
      expect(alerts()[0]).toContain('spent or closed');
    },
  );

  test.each(['/v1/messages', '/v1/chat/completions'])(
    '%s caller sees no account details when no other lane is left',
    async (path) => {
      const [model] = await addModels('messages-style', []);
      await addFault(balance.status, bodyOf(balance));
      const answer = await sendRequest(path, model);
      const text = await answer.text();
      expect([answer.status, text.includes('credit balance'), text.includes('Billing')]).toEqual([
        503,
        false,
        false,
      ]);
      expect(text).toContain('provider_unavailable');
      // The log has the supplier's error type, but not its message, which might repeat a credential or a prompt.
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

  test('account error text that repeats caller input is a caller error and keeps the lane closed', async () => {
    const [model] = await addModels('messages-style');
    const message = `${balance.text!}: Extra inputs are not permitted`;
    await addFault(400, { type: 'error', error: { type: 'invalid_request_error', message } });
    expect((await sendRequest('/v1/messages', model)).status).toBe(400);
    await simulator.clearFaults();
    await simulator.clearRequests();
    expect((await sendRequest('/v1/messages', model)).headers.get('x-svc-failover')).toBe('false');
    expect(alerts()).toEqual([]);
  });

  test('new credential is tried immediately', async () => {
    const [model] = await addModels('messages-style');
    await addFault(balance.status, bodyOf(balance));
    await sendRequest('/v1/messages', model);
    await simulator.clearFaults();
    await simulator.clearRequests();
    await sendRequest('/v1/messages', model);
    expect(await calledLanes()).toEqual(['second']);
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
      (
        await sendRequest('/v1/messages', model, { messages: [{ role: 'user', content: 'Another' }] })
      ).headers.get('x-svc-failover'),
    ).toBe('false');
    expect(await calledLanes()).toEqual(['first']);
  });
});
