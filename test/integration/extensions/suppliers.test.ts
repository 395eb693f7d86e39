import { executeCommand } from '#inside/commands/run-command';
import { startTestApp, type TestApp } from '../../support/app';
import { gatewayFile } from '../../support/gateway-file';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { type Simulator, startSimulator } from '../../support/simulator';

const EXTENSIONS = './test/fixtures/extensions/styles.cjs';
const SECRET = 'sim-secret-of-the-first-lane';

const secrets = { FIRST_KEY: SECRET, SECOND_KEY: 'sim-test' };

let app: TestApp;
let simulator: Simulator;
let scripted: ScriptedSupplier;
let made = 0;

beforeAll(async () => {
  simulator = await startSimulator();
  scripted = await ScriptedSupplier.start();
  app = await startTestApp({ environment: { EXTENSIONS, SUPPLIER_ALLOW: '127.0.0.1' } });
});
afterAll(async () => {
  await app.close();
  await scripted.stop();
  await simulator.stop();
});

/** A model with a lane of the extension's style, which fails in this way, and one of ours behind it. */
async function modelThatFails(fault: string, url = simulator.url): Promise<string> {
  const name = `m${(made += 1)}`;
  const settings = fault === '' ? '' : `, settings: { fault: ${fault} }`;
  await gatewayFile(
    app,
    `version: 1
providers:
  ${name}-first: { style: plain-chat, base_url: "${url}", regions: [eu], api_key: '\${FIRST_KEY}'${settings} }
  ${name}-second: { style: openai-style, base_url: "${simulator.url}", regions: [eu], api_key: '\${SECOND_KEY}' }
models:
  ${name}:
    lanes: [{ provider: ${name}-first, model: sim-small, region: eu }, { provider: ${name}-second, model: sim-small, region: eu }]
    price: { input: 1, output: 2 }
`,
    secrets,
  );
  return name;
}

const ask = (model: string, more: object = {}): Promise<Response> =>
  fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${app.firstKeys?.demo}`,
      'content-type': 'application/json',
      'anthropic-beta': 'one',
      cookie: 'private=1',
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], ...more }),
  });

async function recordOf(answer: Response): Promise<Record<string, unknown> | undefined> {
  const id = answer.headers.get('x-request-id');
  return (
    await app.database.query<Record<string, unknown>>('SELECT * FROM request_record WHERE request_id = $1', [
      id,
    ])
  )[0];
}

const logged = (method: string): object[] =>
  app.log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg, method: of }) => msg === 'a style of suppliers failed' && of === method);

test.each([false, true])('a style of an extension serves a lane; stream: %s', async (stream) => {
  const model = await modelThatFails('');
  const answer = await ask(model, { stream });
  expect(answer.status).toBe(200);
  await answer.text();
  expect(await recordOf(answer)).toMatchObject({ supplier: `${model}-first`, failover: false });
});

test('it sees its own lane, frozen, and nothing of the caller or of the service', async () => {
  const model = await modelThatFails('', scripted.url);
  scripted.answer = { status: 500, body: {} };
  await (await ask(model, { metadata: { session_id: 'private' } })).text();
  const seen = JSON.parse(
    Buffer.from(String(scripted.heard.at(-1)?.headers['x-seen']), 'base64').toString(),
  ) as Record<string, unknown>;
  expect(seen).toEqual({
    operation: 'chat',
    wire: 'chat',
    lane: {
      provider: {
        name: `${model}-first`,
        style: 'plain-chat',
        baseUrl: scripted.url,
        regions: ['eu'],
        settings: {},
      },
      upstreamModel: 'sim-small',
      region: 'eu',
      facts: expect.any(Object) as object,
    },
    stream: false,
    headers: { 'anthropic-beta': 'one' },
    sessionKey: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    isFrozen: true,
  });
  expect(JSON.stringify(seen)).not.toContain(SECRET);
});

describe('what a style throws or answers wrongly is a failure of its lane', () => {
  test.each([
    ['prepare', 'prepare'],
    ['prepare-unprintable', 'prepare'],
    ['prepare-later', 'prepare'],
    ['prepare-nothing', 'prepare'],
    ['elsewhere', 'prepare'],
    ['host', 'prepare'],
    ['header', 'prepare'],
    ['body', 'prepare'],
    ['target', 'target'],
    ['operations', 'operations'],
    ['operations-rubbish', 'operations'],
    ['operations-later', 'operations'],
    ['target-later', 'target'],
  ])('%s', async (fault, method) => {
    const before = logged(method).length;
    const model = await modelThatFails(fault);
    // Only a translated request asks for the target; any asks for the rest.
    const answer = await ask(model);
    expect(answer.status).toBe(200);
    expect(await recordOf(answer)).toMatchObject({ supplier: `${model}-second`, status: 200 });
    expect(logged(method).length).toBeGreaterThan(before);
    expect(logged(method).at(-1)).toMatchObject({ style: 'styles/plain-chat', level: 'warn' });
    expect(app.log.join('')).not.toContain(SECRET);
  });

  test.each(['fields', 'needsCredential', 'pictures'])(
    '%s, which has a careful answer of its own',
    async (fault) => {
      const answer = await ask(await modelThatFails(fault));
      expect(answer.status).toBe(200);
    },
  );

  test.each(['unwrap', 'unwrap-rubbish'])('an answer that it cannot take apart: %s', async (fault) => {
    const model = await modelThatFails('', scripted.url);
    scripted.answer = { body: { fault } };
    const answer = await ask(model);
    expect(answer.status).toBe(200);
    expect(await recordOf(answer)).toMatchObject({
      supplier: `${model}-second`,
      failover: true,
      attempts: [{ supplier: `${model}-first`, outcome: 'upstream_error' }, { outcome: 'answered' }],
    });
  });

  test('an error that it cannot read counts by its status', async () => {
    const model = await modelThatFails('', scripted.url);
    scripted.answer = { status: 503, body: { problem: 'busy' } };
    const answer = await ask(model);
    expect(await recordOf(answer)).toMatchObject({ supplier: `${model}-second`, failover: true });
    expect(logged('readError').length).toBeGreaterThan(0);
  });

  test('with no other lane the request fails, and nothing is charged', async () => {
    const name = `m${(made += 1)}`;
    await gatewayFile(
      app,
      `version: 1
providers:
  ${name}: { style: plain-chat, base_url: "${simulator.url}", regions: [eu], api_key: '\${FIRST_KEY}', settings: { fault: prepare } }
models:
  ${name}: { lanes: [{ provider: ${name}, model: sim-small, region: eu }], price: { input: 1, output: 2 } }
`,
      secrets,
    );
    const answer = await ask(name);
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(await answer.text()).not.toContain(SECRET);
    expect(await recordOf(answer)).toMatchObject({ cost_nano: '0' });
  });
});

test('commands know the styles of extensions, and name those that there are', async () => {
  const said: string[] = [];
  const write = (text: string): void => void said.push(text);
  const context = { write, writeStderr: write, confirm: () => Promise.resolve(false) };
  await executeCommand(['doctor'], { ...context, environment: app.environment });
  expect(said.join('')).not.toContain('of a style that is not there');
  await executeCommand(['doctor'], { ...context, environment: { ...app.environment, EXTENSIONS: '' } });
  expect(said.join('')).toMatch(/of a style that is not there: m1-first/);
});
