import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commands } from '#inside/commands/run-command';
import { makeScratchFolder } from '../../support/scratch';

const project = join(__dirname, '../../..');
const program = join(project, 'bin/switchboard.cjs');

const elsewhere = makeScratchFolder('switchboard-elsewhere-');
afterAll(() => rmSync(elsewhere, { recursive: true }));

const run = (...words: string[]) =>
  spawnSync(process.execPath, [program, ...words], {
    cwd: elsewhere,
    encoding: 'utf8',
    timeout: 60_000,
    env: { PATH: process.env['PATH'] },
  });

test('the program prints what its command says and nothing else, from any folder', () => {
  const help = run('--help');
  expect([help.status, help.stderr]).toEqual([0, '']);
  expect(help.stdout).toMatch(/^Commands:\n {2}plan FILE/);
  const unknown = run('no-such-command');
  expect([unknown.status, unknown.stdout]).toEqual([64, '']);
  expect(unknown.stderr).not.toMatch(/npm|\.env/);
});

/** Every call of the command line in README and documents, in blocks and in sentences. */
function documented(): { readonly file: string; readonly line: string }[] {
  const folder = join(project, 'docs');
  const files = [
    'README.md',
    ...readdirSync(folder).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
  ];
  return files.flatMap((file) =>
    [
      ...readFileSync(join(project, file), 'utf8').matchAll(
        /(?:npm run (?:-s )?cli|bin\/switchboard\.cjs)(?: --)? ([^`\n#>]+)/g,
      ),
    ].map(([, line = '']) => ({ file, line: line.split(/ {2,}/)[0]?.trim() ?? '' })),
  );
}

test('every documented command is one that there is, with options that it has', () => {
  const calls = documented().filter(({ line }) => !line.includes('|'));
  expect(calls.length).toBeGreaterThan(20);
  const faults = calls.flatMap(({ file, line }) => {
    const words = line.split(/\s+/);
    const name = [words.slice(0, 2).join(' '), words[0] ?? ''].find((each) => each in commands);
    const command = name === undefined ? undefined : commands[name];
    if (command === undefined) return [`${file}: no command: ${line}`];
    const unknown = words.filter((word) => word.startsWith('--') && !command.usage.includes(word));
    return unknown.map((option) => `${file}: ${option} is no option of ${name}`);
  });
  expect(faults).toEqual([]);
});
