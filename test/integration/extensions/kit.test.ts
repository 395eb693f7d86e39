import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeExtension } from '#extension/kit';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { Program, projectFolder } from '../../system/program';

const fixtures = join(projectFolder, 'test/fixtures/extensions');
const scratch = makeScratchFolder('switchboard-kit-');
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** An extension in a folder of its own. */
function written(name: string, adds: string): string {
  const folder = join(scratch, name);
  mkdirSync(folder);
  const text = `exports.default = { id: '${name}', version: '1.0.0', host: '^1', setup: (host) => (${adds}) };`;
  writeFileSync(join(folder, 'index.js'), text);
  return folder;
}

const partsOf = (file: string): string => `require('${join(fixtures, file)}').default.setup(host)`;

// As a team with Jest would have it.
describeExtension(written('both', `{ ...${partsOf('fees.cjs')}, ...${partsOf('policies.cjs')} }`), {
  product: projectFolder,
});

test('what was tried leaves nothing behind', () => {
  expect(readdirSync(join(scratch, 'both'))).toEqual(['index.js']);
});

describe('extension:check', () => {
  const check = (path: string) =>
    Program.run(process.execPath, [
      join(projectFolder, 'bin/switchboard.cjs'),
      'extension:check',
      path,
    ]).finish(200_000);

  test('ends with 1 where something failed, and says what', async () => {
    const all = `{ policies: [{ name: 'all', forbidsModel: () => 'Nothing is allowed.' }] }`;
    const { code, output } = await check(written('strict', all));
    expect(output).toMatch(/^failed +start +the service starts with it, and serves\n.*Nothing is allowed\./m);
    expect(output).toMatch(/^passed +versions /m);
    expect(output).toMatch(/^skipped +taps .*\n +it has no taps$/m);
    expect(output).toMatch(/\n\d+ passed, [1-9]\d* failed, [1-9]\d* skipped\n$/);
    expect(code).toBe(1);
  }, 240_000);

  test('says why an extension cannot be loaded at all', async () => {
    const { code, output } = await check(written('broken', `{ doors: [] }`));
    expect(output).toContain('setup() returned "doors", which this contract does not know');
    // It is asked once.
    expect(output.match(/^failed /gm)).toHaveLength(1);
    expect(code).toBe(1);
  }, 240_000);

  test('leaves no service behind where its reader has seen enough', async () => {
    const words = [join(projectFolder, 'dist/bundle/cli.js'), 'extension:check', written('read-half', '{}')];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] });
    const closed = once(child, 'close');
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const started = new Set<number>();
    const children = `/proc/${child.pid}/task/${child.pid}/children`;
    await until(() => {
      const pids = existsSync(children) ? readFileSync(children, 'utf8').split(' ').filter(Boolean) : [];
      for (const pid of pids) started.add(Number(pid));
      return child.exitCode !== null;
    }, 120_000);
    await closed;
    expect(started.size).toBeGreaterThan(0);
    for (const pid of started) await until(() => !existsSync(`/proc/${pid}`));
  }, 240_000);
});
