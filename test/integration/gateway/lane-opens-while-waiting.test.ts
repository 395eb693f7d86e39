import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';

/** Half of the calls get a connection immediately; the others wait for one. */
const CALLS = 10;

describe('Request whose lane opens while it waits for a connection', () => {
  let app: TestApp;
  let simulator: Simulator;

  beforeAll(async () => {
    const lanes = ['only', 'first', 'second'].map((name) => ({ name, region: 'eu' }));
    simulator = await startSimulator({ lanes });
    app = await startTestApp({
      environment: { SUPPLIER_ALLOW: '127.0.0.1', SUPPLIER_CONNECTIONS: String(CALLS / 2) },
    });
    await app.database.transaction(async (tx) => {
      const editor = new CatalogueEditor();
      const credentials = app.application.get(CredentialEditor, { strict: false });
      for (const { name, url: baseUrl } of simulator.lanes) {
        const { id } = await editor.upsertProvider(tx, {
          name,
          style: 'openai-style',
          baseUrl,
          breaker: { failures: 2 },
        });
        await credentials.put(tx, { providerId: id, label: 'test', kind: 'bearer', secret: 'sim-test' });
      }
      const models = { alone: ['only'], backed: ['first', 'second'] };
      const rate = parseUsdPerMillion('1');
      for (const [name, providers] of Object.entries(models)) {
        await editor.upsertModel(tx, { name, kind: 'chat', ownedBy: 'test', maxOutputTokens: 1_000 });
        const inputs = providers.map((provider, priority) => ({
          provider,
          upstreamModel: 'sim-large',
          region: 'eu',
          priority,
        }));
        await editor.setLanes(tx, name, inputs);
        await new PriceService().addPrice(tx, {
          model: name,
          source: 'test',
          rates: priceRates({ input: rate, output: rate }),
        });
      }
    });
    await app.application.get(CatalogueService).reload();
  });
  afterEach(() => simulator.clearFaults());
  afterAll(async () => {
    await app.close();
    await simulator.stop();
  });

  const sendRequest = (model: string): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys!.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello [[tokens=5]]' }] }),
    });

  /** Sends concurrent calls, of which the first open the lane while the last wait. */
  async function sendConcurrently(model: string, lane: string): Promise<Response[]> {
    await simulator.clearRequests();
    await simulator.addFault({ match: { lane }, fault: { kind: 'delay', ms: 30 } });
    await simulator.addFault({ match: { lane }, fault: { kind: 'status', status: 503 } });
    return Promise.all(Array.from({ length: CALLS }, () => sendRequest(model)));
  }

  const codeOf = async (answer: Response): Promise<string | undefined> =>
    ((await answer.json()) as { error?: { code: string } }).error?.code;

  test('waiting request is not sent and gets 503 with retry-after', async () => {
    const answers = await sendConcurrently('alone', 'only');
    const unsent = CALLS - (await simulator.requests()).length;
    expect(unsent).toBeGreaterThan(0);
    const codes = await Promise.all(answers.map(codeOf));
    const refusals = answers.filter((_, place) => codes[place] === 'no_providers_available');
    expect(refusals).toHaveLength(unsent);
    for (const { headers } of refusals) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    const records = await app.database.query<{ attempts: unknown[] | null }>(
      "SELECT attempts FROM request_record WHERE model = 'alone' AND code = 'no_providers_available'",
    );
    for (const { attempts } of records) expect(attempts ?? []).toEqual([]);
  });

  test('waiting request goes to the backup lane', async () => {
    const answers = await sendConcurrently('backed', 'first');
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(CALLS).fill(200));
    const servedLanes = (await simulator.requests()).map(({ lane }) => lane);
    expect(servedLanes.filter((lane) => lane === 'second')).toHaveLength(CALLS);
    expect(servedLanes.filter((lane) => lane === 'first').length).toBeLessThan(CALLS);
  });
});
