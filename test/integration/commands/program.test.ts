import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commands } from '#inside/commands/run-command';
import { makeScratchFolder } from '../../support/scratch';
import { type Outcome, Program } from '../../system/program';

const project = join(__dirname, '../../..');
const program = join(project, 'bin/switchboard.cjs');

const elsewhere = makeScratchFolder('switchboard-elsewhere-');
afterAll(() => rmSync(elsewhere, { recursive: true }));

const run = (...words: string[]): Promise<Outcome> => {
  const environment = { PATH: process.env['PATH'] };
  return Program.run(process.execPath, [program, ...words], environment, { folder: elsewhere }).finish(
    60_000,
  );
};

test('the program prints what its command says and nothing else, from any folder', async () => {
  const help = await run('--help');
  expect([help.code, help.complaint]).toEqual([0, '']);
  expect(help.output).toMatch(/^Commands:\n {2}plan FILE/);
  const unknown = await run('no-such-command');
  expect([unknown.code, unknown.output]).toEqual([64, '']);
  expect(unknown.complaint).toMatch(/^There is no command "no-such-command"\.\n/);
  expect(unknown.complaint).not.toMatch(/npm|\.env/);
});

test.each([
  ['doctor'],
  ['money:verify'],
  ['backup', 'copies'],
  ['key', 'list'],
  ['apply', 'gateway.yaml', '--yes'],
])('%s where there is no installation says so and makes none', async (...words) => {
  const { code, output, complaint } = await run(...words);
  expect([code, output]).toEqual([78, '']);
  expect(complaint).toMatch(
    /^There is no installation in \S+\/\.data\. Give the command the settings of the service/,
  );
  expect(existsSync(join(elsewhere, '.data'))).toBe(false);
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
