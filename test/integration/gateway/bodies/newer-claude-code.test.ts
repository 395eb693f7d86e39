import { parseUsd, parseUsdPerMillion as usd } from '#product/kernel';
import { addCustomer } from '../../../support/customer';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';
import recorded from '../../../fixtures/agents/claude-code.json';
import { TestCatalogue } from '../test-catalogue';

const numberedNames = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}_${index}`);
const valuesOf = (names: readonly string[]): Record<string, object> =>
  Object.fromEntries(names.map((name) => [name, { mode: 'new' }]));

const fields = numberedNames('field', 10);
const attributes = numberedNames('attribute', 5);
const betas = numberedNames('beta', 5).map((name) => `${name.replace('_', '-')}-2030-01-01`);

/** The recorded messages with unpublished block attributes added. */
const messages = recorded.body.messages.map(({ role, content }) => ({
  role,
  content: content.map((block) => ({ ...block, ...valuesOf(attributes) })),
}));

// Issue: "the recorded requests of the newest Claude Code […] with 20 invented fields, betas and block attributes added, on
// a prepaid key of $5 with default settings: 200 on every turn, work done, each left-out name told."
describe('Later release of Claude Code on a prepaid key', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    await catalogue.provider({
      name: 'vendor',
      style: 'messages-style',
      settings: { profile: 'anthropic' },
      baseUrl: supplier.url,
      credentials: [{ label: 'test', kind: 'header', secret: 'sim-test' }],
    });
    await catalogue.model('opus', [{ provider: 'vendor' }], { input: usd('5'), output: usd('25') });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  test('every turn is served, and x-svc-dropped names each unknown field', async () => {
    const { key } = await addCustomer(app, 'developer', parseUsd('5'));
    const conversation: object[] = [...messages];
    for (let turn = 0; turn < 3; turn += 1) {
      const response = await fetch(`${app.url}/v1/messages`, {
        method: 'POST',
        headers: {
          ...recorded.headers,
          'anthropic-beta': [recorded.headers['anthropic-beta'], ...betas].join(','),
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          ...recorded.body,
          ...valuesOf(fields),
          model: 'opus',
          messages: conversation,
        }),
      });
      const text = await response.text();
      expect([response.status, text]).toEqual([200, expect.stringContaining('event: message_stop')]);
      const droppedNames = (response.headers.get('x-svc-dropped') ?? '').split(', ');
      expect(droppedNames.sort()).toEqual(
        [
          ...fields,
          ...attributes.map((name) => `content.${name}`),
          ...betas.map((beta) => `anthropic-beta.${beta}`),
        ].sort(),
      );
      const supplierBody = JSON.stringify((await supplier.requests()).at(-1)?.body);
      expect(supplierBody).not.toMatch(/field_\d|attribute_\d/);
      conversation.push(
        { role: 'assistant', content: [{ type: 'text', text: 'An answer.' }] },
        { role: 'user', content: [{ type: 'text', text: `Turn ${turn}.` }] },
      );
    }
  });
});
