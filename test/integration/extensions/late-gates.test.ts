import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeScratchFolder } from '../../support/scratch';
import { Program, projectFolder } from '../../system/program';
import { answers, type GateHouse, openGateHouse } from './gate-house';

const scratch = makeScratchFolder('switchboard-late-gates-');
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function written(name: string, text: string): string {
  const folder = join(scratch, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.cjs'), text);
  return join(folder, 'index.cjs');
}

/** Gates that keep the process busy past their deadline, at once or behind a promise. */
const busy = `
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
describe('a gate that answers at once, and after its deadline,', () => {
  let house: GateHouse;
  beforeAll(async () => {
    house = await openGateHouse({ EXTENSIONS: written('busy', busy) });
    await house.shelf.model('busy', [{ provider: 'openai' }]);
    house.supplier.answer = { body: answers.chat };
  });
  afterAll(() => house.close());

  const ask = (tag: string): Promise<Response> =>
    house.post('/v1/chat/completions', {
      model: 'busy',
      messages: [{ role: 'user', content: 'Hi' }],
      metadata: { tags: [tag] },
    });

  test.each([
    ['closed', 'busy/closed-sync'],
    ['async', 'busy/closed-async'],
  ])('refuses the request if it is closed (%s)', async (tag, gate) => {
    const response = await ask(tag);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { details: { gate, reason: 'late' } } });
  });

  test('is recorded as late, and passed over, if it is open', async () => {
    const response = await ask('open');
    expect(response.status).toBe(200);
    await response.text();
    const record = await house.recordOf(response);
    expect(record?.['gates']).toContainEqual(
      expect.objectContaining({ name: 'busy/open-sync', verdict: 'late' }),
    );
  });
});

// "load errors have no stack".
test('an extension that cannot be loaded is named in one line, and the log has its stack', async () => {
  const text = `function countWords() { return undefined.length; }
exports.default = { id: 'failing', version: '1.0.0', host: '^1', setup: () => countWords() };`;
  const environment = {
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
    DATA_FOLDER: join(scratch, 'data'),
    EXTENSIONS: written('failing', text),
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
