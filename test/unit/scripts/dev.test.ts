import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const project = join(__dirname, '..', '..', '..');
const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
const devScripts = Object.entries(scripts).filter(([name]) => /^(?:prove|bench):/.test(name));

function runDev(words: string[], folder = project, environment = {}, flags: string[] = []) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...flags, join(folder, 'scripts/dev.cjs'), ...words],
    { cwd: folder, env: { ...process.env, ...environment }, encoding: 'utf8' },
  );
  return { status, stdout, stderr };
}

test('without a name lists every program with a description', () => {
  const { status, stdout } = runDev([]);
  expect(status).toBe(0);
  for (const name of [...devScripts.map(([each]) => each), 'check', 'test', 'verify:image'])
    expect(stdout).toMatch(new RegExp(`^  ${name.replace(':', ' ')} +\\S.{10,}$`, 'm'));
  expect(runDev(['bench']).stdout.match(/^ {2}(?!bench )\S.*$/gm)).toBeNull();
});

test.each([['prove nonsense'], ['nonsense'], ['constructor']])('"%s" is unknown', (words) => {
  expect(runDev(words.split(' '))).toEqual({
    status: 1,
    stdout: '',
    stderr: `There is no "${words}"; \`npm run dev\` lists what there is.\n`,
  });
});

test('every script of package.json is a short name of an existing program', () => {
  expect(devScripts.length).toBeGreaterThan(25);
  for (const [name, command] of devScripts) {
    const [kind = '', part = ''] = name.split(':');
    expect(command).toBe(`exec node scripts/dev.cjs ${kind} ${part}`);
    const file = join(kind === 'prove' ? 'proofs' : 'bench', part, `${kind}-${part}.ts`);
    expect([file, existsSync(join(project, file))]).toEqual([file, true]);
  }
});

const PREPARATION = '(exec node scripts/bootstrap.cjs) && ';

test('every script is a single program with arguments that also works in a Windows shell', () => {
  // With `ignore-scripts` npm runs no `prestart`, so `start` prepares in a subshell first.
  const commands = { ...scripts, start: scripts['start']!.replace(PREPARATION, '') };
  expect(Object.entries(commands).filter(([, command]) => /[&|;<>$'"`]|^\w+=/.test(command))).toEqual([]);
  // POSIX shells treat `exec` as a builtin; on Windows it is a file in the project.
  expect(readFileSync(join(project, 'exec.cmd'), 'utf8')).toMatch(/^(?:@rem .*\n)+@%\*\n$/);
});

test('programs that handle signals are started without a shell in between', () => {
  const commands = Object.entries(scripts).filter(([name]) => !name.startsWith('check:'));
  expect(commands.filter(([, command]) => !command.replace(PREPARATION, '').startsWith('exec '))).toEqual([]);
});

describe('Fresh copy', () => {
  let copy: string;

  beforeEach(() => {
    copy = mkdtempSync(join(realpathSync(tmpdir()), 'dev-'));
    cpSync(join(project, 'scripts'), join(copy, 'scripts'), { recursive: true });
    const files = ['README.md', 'package-lock.json', '.swcrc', 'nest-cli.json', 'tsconfig.json', 'old-node'];
    for (const name of files) writeFileSync(join(copy, name), '');
    writeFileSync(join(copy, 'old-node'), '#!/bin/sh\necho v20.20.2\n', { mode: 0o755 });
    writeFileSync(join(copy, 'package.json'), '{ "scripts": {} }');
    writeFileSync(join(copy, 'scripts/bundle.cjs'), '');
    const printScript = 'console.log(process.versions.node, ...process.argv.slice(2)); process.exitCode = 7;';
    writeFileSync(join(copy, 'scripts/check.cjs'), printScript);
  });

  afterEach(() => rmSync(copy, { recursive: true, force: true }));

  const environment = () => ({
    npm_execpath: join(__dirname, 'fake-npm.cjs'),
    npm_node_execpath: process.execPath,
    FAKE_PROJECT: copy,
  });

  test('builds what a program needs, and passes on its arguments, output and exit code', () => {
    const firstRun = runDev(['check', '--some', 'words'], copy, environment());
    expect(firstRun).toMatchObject({ status: 7 });
    expect(firstRun.stdout).toContain('Building');
    expect(runDev(['check', '--some', 'words'], copy, environment())).toEqual({
      status: 7,
      stdout: `${process.versions.node} --some words\n`,
      stderr: '',
    });
  });

  test("uses the project's Node on a machine with an older one", () => {
    const olderNodeScript = join(copy, 'older.cjs');
    writeFileSync(olderNodeScript, "Object.defineProperty(process.versions, 'node', { value: '20.20.2' })");
    const oldEnvironment = { ...environment(), npm_node_execpath: join(copy, 'old-node') };
    const { status, stdout } = runDev(['check', 'word'], copy, oldEnvironment, [
      '--require',
      olderNodeScript,
    ]);
    expect(status).toBe(7);
    expect(stdout.split('\n').at(-2)).toBe(`${process.versions.node} word`);
  });
});
