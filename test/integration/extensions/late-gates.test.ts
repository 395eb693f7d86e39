import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeScratchFolder } from '../../support/scratch';
import { Program, projectFolder } from '../../system/program';
import { supplierReplies, type GateFixture, openGateFixture } from './gate-fixture';

const scratchFolder = makeScratchFolder('switchboard-late-gates-');
afterAll(() => rmSync(scratchFolder, { recursive: true, force: true }));

function writeExtension(name: string, text: string): string {
  const folder = join(scratchFolder, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.cjs'), text);
  return join(folder, 'index.cjs');
}

/** Gates that block the process past their deadline, synchronously or behind a promise. */
const busySource = `
const work = () => {
  const end = performance.now() + 60;
  while (performance.now() < end);
  return { verdict: 'abstain' };
};
const gate = (name, onError, request) => ({ name, timeoutMs: 20, onError, request });
const about = (tag, act) => (request) => (request.tags.includes(tag) ? act() : { verdict: 'abstain' });
exports.default = {
  id: 'busy', version: '1.0.0', host: '^1',
  setup: () => ({ gates: [
    gate('open-sync', 'open', about('open', work)),
    gate('closed-sync', 'closed', about('closed', work)),
    gate('closed-async', 'closed', about('async', async () => work())),
  ] }),
};`;

// "synchronous gates are never late".
describe('A gate that blocks past its deadline', () => {
  let fixture: GateFixture;
  beforeAll(async () => {
    fixture = await openGateFixture({ EXTENSIONS: writeExtension('busy', busySource) });
    await fixture.catalogue.model('busy', [{ provider: 'openai' }]);
    fixture.supplier.answer = { body: supplierReplies.chat };
  });
  afterAll(() => fixture.close());

  const sendChat = (tag: string): Promise<Response> =>
    fixture.post('/v1/chat/completions', {
      model: 'busy',
      messages: [{ role: 'user', content: 'Hi' }],
      metadata: { tags: [tag] },
    });

  test.each([
    ['closed', 'busy/closed-sync'],
    ['async', 'busy/closed-async'],
  ])('refuses the request when it is closed (%s)', async (tag, gate) => {
    const response = await sendChat(tag);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { details: { gate, reason: 'late' } } });
  });

  test('is recorded as late and skipped when it is open', async () => {
    const response = await sendChat('open');
    expect(response.status).toBe(200);
    await response.text();
    const record = await fixture.recordOf(response);
    expect(record?.['gates']).toContainEqual(
      expect.objectContaining({ name: 'busy/open-sync', verdict: 'late' }),
    );
  });
});

// "load errors have no stack".
test('an extension that cannot be loaded is reported in one line, with its stack in the log', async () => {
  const text = `function countWords() { return undefined.length; }
exports.default = { id: 'failing', version: '1.0.0', host: '^1', setup: () => countWords() };`;
  const environment = {
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
    DATA_FOLDER: join(scratchFolder, 'data'),
    EXTENSIONS: writeExtension('failing', text),
  };
  const entry = join(projectFolder, 'dist/bundle/main.js');
  const { code, output, complaint } = await Program.run(process.execPath, [entry], environment).finish(
    60_000,
  );
  expect(complaint).toContain('The extension failing cannot be used: setup() failed: ');
  const lines = output
    .split('\n')
    .filter((line) => line.includes('an extension could not be loaded'))
    .map((line) => JSON.parse(line) as { error: { stack: string } });
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines[0])).toMatch(/at countWords \(.*index\.cjs:1:/);
  expect(code).toBe(78);
});
