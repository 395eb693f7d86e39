import { executeCommand } from '#inside/commands/run-command';
import { startTestApp, type TestApp } from '../../support/app';
import { applyGatewayFile } from '../../support/gateway-file';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { type Simulator, startSimulator } from '../../support/simulator';

const EXTENSIONS = './test/fixtures/extensions/styles.cjs';
const SECRET = 'sim-secret-of-the-first-lane';

const secrets = { FIRST_KEY: SECRET, SECOND_KEY: 'sim-test' };

let app: TestApp;
let simulator: Simulator;
let scripted: ScriptedSupplier;
let modelCount = 0;

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

/** Creates a model whose first lane uses the extension's style with this fault, and whose second lane works. */
async function createFailingModel(fault: string, url = simulator.url): Promise<string> {
  const name = `m${(modelCount += 1)}`;
  const settings = fault === '' ? '' : `, settings: { fault: ${fault} }`;
  await applyGatewayFile(
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

const sendChat = (model: string, more: object = {}): Promise<Response> =>
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

async function recordFor(answer: Response): Promise<Record<string, unknown> | undefined> {
  const id = answer.headers.get('x-request-id');
  return (
    await app.database.query<Record<string, unknown>>('SELECT * FROM request_record WHERE request_id = $1', [
      id,
    ])
  )[0];
}

const styleFailures = (method: string): object[] =>
  app.log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg, method: of }) => msg === 'a style of suppliers failed' && of === method);

test.each([false, true])('a style of an extension serves a lane (stream: %s)', async (stream) => {
  const model = await createFailingModel('');
  const answer = await sendChat(model, { stream });
  expect(answer.status).toBe(200);
  await answer.text();
  expect(await recordFor(answer)).toMatchObject({ supplier: `${model}-first`, failover: false });
});

test('a style receives only its own lane, frozen, and nothing about the caller or the service', async () => {
  const model = await createFailingModel('', scripted.url);
  scripted.answer = { status: 500, body: {} };
  await (await sendChat(model, { metadata: { session_id: 'private' } })).text();
  const styleInput = JSON.parse(
    Buffer.from(String(scripted.requests.at(-1)?.headers['x-seen']), 'base64').toString(),
  ) as Record<string, unknown>;
  expect(styleInput).toEqual({
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
  expect(JSON.stringify(styleInput)).not.toContain(SECRET);
});

describe('A faulty style', () => {
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
  ])('counts as a failure of its lane: %s', async (fault, method) => {
    const failuresBefore = styleFailures(method).length;
    const model = await createFailingModel(fault);
    // `target` is called for converted requests only, every other method for any request.
    const answer = await sendChat(model);
    expect(answer.status).toBe(200);
    expect(await recordFor(answer)).toMatchObject({ supplier: `${model}-second`, status: 200 });
    expect(styleFailures(method).length).toBeGreaterThan(failuresBefore);
    expect(styleFailures(method).at(-1)).toMatchObject({ style: 'styles/plain-chat', level: 'warn' });
    expect(app.log.join('')).not.toContain(SECRET);
  });

  test.each(['fields', 'needsCredential', 'pictures'])('uses a safe default when %s fails', async (fault) => {
    const answer = await sendChat(await createFailingModel(fault));
    expect(answer.status).toBe(200);
  });

  test.each(['unwrap', 'unwrap-rubbish'])(
    'fails over when it cannot read the response: %s',
    async (fault) => {
      const model = await createFailingModel('', scripted.url);
      scripted.answer = { body: { fault } };
      const answer = await sendChat(model);
      expect(answer.status).toBe(200);
      expect(await recordFor(answer)).toMatchObject({
        supplier: `${model}-second`,
        failover: true,
        attempts: [{ supplier: `${model}-first`, outcome: 'upstream_error' }, { outcome: 'answered' }],
      });
    },
  );

  test('classifies an error by its status when it cannot read the body', async () => {
    const model = await createFailingModel('', scripted.url);
    scripted.answer = { status: 503, body: { problem: 'busy' } };
    const answer = await sendChat(model);
    expect(await recordFor(answer)).toMatchObject({ supplier: `${model}-second`, failover: true });
    expect(styleFailures('readError').length).toBeGreaterThan(0);
  });

  test('fails the request without a charge when there is no other lane', async () => {
    const name = `m${(modelCount += 1)}`;
    await applyGatewayFile(
      app,
      `version: 1
providers:
  ${name}: { style: plain-chat, base_url: "${simulator.url}", regions: [eu], api_key: '\${FIRST_KEY}', settings: { fault: prepare } }
models:
  ${name}: { lanes: [{ provider: ${name}, model: sim-small, region: eu }], price: { input: 1, output: 2 } }
`,
      secrets,
    );
    const answer = await sendChat(name);
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(await answer.text()).not.toContain(SECRET);
    expect(await recordFor(answer)).toMatchObject({ cost_nano: '0' });
  });
});

test('commands load the styles of extensions, and doctor reports a missing style', async () => {
  const output: string[] = [];
  const write = (text: string): void => void output.push(text);
  const context = { write, writeStderr: write, confirm: () => Promise.resolve(false) };
  await executeCommand(['doctor'], { ...context, environment: app.environment });
  expect(output.join('')).not.toContain('of a style that is not there');
  await executeCommand(['doctor'], { ...context, environment: { ...app.environment, EXTENSIONS: '' } });
  expect(output.join('')).toMatch(/of a style that is not there: m1-first/);
});
