import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { TestCatalogue } from './test-catalogue';
import { findOpenResponsesFaults, readOpenResponses, openResponsesItems } from '../../support/open-responses';

/** Checks that a response object has all fields on every lane, native and converted. */
describe('Open Responses compliance suite', () => {
  let app: TestApp;
  let supplier: Simulator;

  const lanes = {
    chat: { style: 'openai-style', settings: {} },
    responses: { style: 'openai-style', settings: { profile: 'openai' } },
    messages: { style: 'messages-style', settings: {} },
    gemini: { style: 'gemini', settings: {} },
    mistral: { style: 'openai-style', settings: { profile: 'mistral' } },
  } as const;
  const laneNames = Object.keys(lanes) as (keyof typeof lanes)[];

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    for (const name of laneNames) {
      const { style, settings } = lanes[name];
      const kind = style === 'openai-style' ? 'bearer' : 'header';
      const credential = { label: 'key', kind, secret: 'sim-key' } as const;
      await catalogue.provider({ name, style, settings, baseUrl: supplier.url, credentials: [credential] });
      await catalogue.model(`on-${name}`, [{ provider: name }]);
    }
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  async function textOf(body: object): Promise<string> {
    const response = await fetch(`${app.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    return response.text();
  }

  const cases = laneNames.flatMap((lane) =>
    Object.entries(openResponsesItems).map(([item, body]) => [item, lane, body] as const),
  );
  test.each(cases)('%s passes on the %s lane', async (item, lane, body) => {
    const text = await textOf({ model: `on-${lane}`, ...body });
    expect(findOpenResponsesFaults(item, readOpenResponses(item, text))).toEqual([]);
  });

  test.each(laneNames)('response echoes store: false on the %s lane', async (lane) => {
    const echoedFields = { store: false, prompt_cache_key: 'k', max_tool_calls: 3, metadata: { a: 'b' } };
    for (const item of ['basic-response', 'streaming-response']) {
      const text = await textOf({ model: `on-${lane}`, ...openResponsesItems[item], ...echoedFields });
      const responses = readOpenResponses(item, text);
      expect(responses.length).toBeGreaterThan(0);
      for (const response of responses) expect(response.store).toBe(false);
    }
  });
});
