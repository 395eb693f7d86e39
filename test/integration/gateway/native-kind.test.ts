import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { TestCatalogue } from './test-catalogue';

/** "A model with only OAuth lanes is listed as `kind: chat` and answers 404." */
describe('Kinds in the list of models', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url, environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    const secret = { accessToken: 'sim-one', refreshToken: 'refresh-one', expiresAt: Date.now() + 3_600_000 };
    await catalogue.provider({
      name: 'agents',
      style: 'native-oauth',
      baseUrl: `${supplier.url}/v1`,
      settings: { oauth: { token_url: supplier.url, client_id: 'agent' } },
      credentials: [{ label: 'one', kind: 'oauth-pool', secret }],
    });
    await catalogue.provider({
      name: 'plain',
      style: 'openai-style',
      baseUrl: supplier.url,
      credentials: [{ label: 'key', kind: 'bearer', secret: 'sim-plain' }],
    });
    await catalogue.model('agents-only', [{ provider: 'agents' }]);
    await catalogue.model('plain-only', [{ provider: 'plain' }]);
    await catalogue.model('agents-first', [{ provider: 'agents' }, { provider: 'plain' }]);
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const call = (path: string, body?: object): Promise<Response> =>
    fetch(`${app.url}/v1/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  async function kindsById(): Promise<Map<string, string>> {
    const { data } = (await (await call('models')).json()) as {
      readonly data: readonly { readonly id: string; readonly kind: string }[];
    };
    return new Map(data.map(({ id, kind }) => [id, kind]));
  }

  test('model with only OAuth lanes has kind native', async () => {
    const kinds = await kindsById();
    expect(kinds.get('agents-only')).toBe('native');
    expect(kinds.get('plain-only')).toBe('chat');
    expect(kinds.get('agents-first')).toBe('chat');
    expect(await (await call('models/agents-only')).json()).toMatchObject({ kind: 'native' });
  });

  test('every model of kind chat serves a chat request', async () => {
    const chatModels = [...(await kindsById())].flatMap(([id, kind]) => (kind === 'chat' ? [id] : []));
    const messages = [{ role: 'user', content: 'x' }];
    for (const model of chatModels) {
      const answer = await call('chat/completions', { model, messages, max_tokens: 20 });
      expect([model, answer.status]).toEqual([model, 200]);
    }
  });
});
