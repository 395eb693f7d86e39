import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeExtension } from '#extension/kit';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { Program, projectFolder } from '../../system/program';

const fixtures = join(projectFolder, 'test/fixtures/extensions');
const scratchFolder = makeScratchFolder('switchboard-kit-');
afterAll(() => rmSync(scratchFolder, { recursive: true, force: true }));

/** Writes an extension into its own folder and returns its path. */
function writeExtension(name: string, adds: string): string {
  const folder = join(scratchFolder, name);
  mkdirSync(folder);
  const text = `exports.default = { id: '${name}', version: '1.0.0', host: '^1', setup: (host) => (${adds}) };`;
  writeFileSync(join(folder, 'index.js'), text);
  return folder;
}

const contributionsOf = (file: string): string => `require('${join(fixtures, file)}').default.setup(host)`;

// Runs the kit as a team with Jest would.
describeExtension(
  writeExtension('both', `{ ...${contributionsOf('fees.cjs')}, ...${contributionsOf('policies.cjs')} }`),
  {
    product: projectFolder,
  },
);

test('the kit leaves no files in the folder of the extension', () => {
  expect(readdirSync(join(scratchFolder, 'both'))).toEqual(['index.js']);
});

describe('extension:check', () => {
  const check = (path: string) =>
    Program.run(process.execPath, [
      join(projectFolder, 'bin/switchboard.cjs'),
      'extension:check',
      path,
    ]).finish(200_000);

  test('exits with 1 and prints the reason when a check fails', async () => {
    const policySource = `{ policies: [{ name: 'all', forbidsModel: () => 'Nothing is allowed.' }] }`;
    const { code, output } = await check(writeExtension('strict', policySource));
    expect(output).toMatch(/^failed +start +the service starts with it, and serves\n.*Nothing is allowed\./m);
    expect(output).toMatch(/^passed +versions /m);
    expect(output).toMatch(/^skipped +taps .*\n +it has no taps$/m);
    expect(output).toMatch(/\n\d+ passed, [1-9]\d* failed, [1-9]\d* skipped\n$/);
    expect(code).toBe(1);
  }, 240_000);

  test('prints why an extension cannot be loaded', async () => {
    const { code, output } = await check(writeExtension('broken', `{ doors: [] }`));
    expect(output).toContain('setup() returned "doors", which this contract does not know');
    // Loaded only once, so one failure is printed.
    expect(output.match(/^failed /gm)).toHaveLength(1);
    expect(code).toBe(1);
  }, 240_000);

  test('stops its service when the reader closes the pipe early', async () => {
    const args = [
      join(projectFolder, 'dist/bundle/cli.js'),
      'extension:check',
      writeExtension('read-half', '{}'),
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const closed = once(child, 'close');
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const startedPids = new Set<number>();
    const children = `/proc/${child.pid}/task/${child.pid}/children`;
    await until(() => {
      const pids = existsSync(children) ? readFileSync(children, 'utf8').split(' ').filter(Boolean) : [];
      for (const pid of pids) startedPids.add(Number(pid));
      return child.exitCode !== null;
    }, 120_000);
    await closed;
    expect(startedPids.size).toBeGreaterThan(0);
    for (const pid of startedPids) await until(() => !existsSync(`/proc/${pid}`));
  }, 240_000);
});
