import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commands } from '#inside/commands/run-command';
import { makeScratchFolder } from '../../support/scratch';
import { type ProgramOutcome, Program } from '../../system/program';

const project = join(__dirname, '../../..');
const cliPath = join(project, 'bin/switchboard.cjs');

const scratchFolder = makeScratchFolder('switchboard-elsewhere-');
afterAll(() => rmSync(scratchFolder, { recursive: true }));

const run = (...words: string[]): Promise<ProgramOutcome> => {
  const environment = { PATH: process.env['PATH'] };
  return Program.run(process.execPath, [cliPath, ...words], environment, { folder: scratchFolder }).finish(
    60_000,
  );
};

test('the program prints only the output of its command, from any folder', async () => {
  const helpResult = await run('--help');
  expect([helpResult.code, helpResult.complaint]).toEqual([0, '']);
  expect(helpResult.output).toMatch(/^Commands:\n {2}plan FILE/);
  const unknownResult = await run('no-such-command');
  expect([unknownResult.code, unknownResult.output]).toEqual([64, '']);
  expect(unknownResult.complaint).toMatch(/^There is no command "no-such-command"\.\n/);
  expect(unknownResult.complaint).not.toMatch(/npm|\.env/);
});

test.each([
  ['doctor'],
  ['money:verify'],
  ['backup', 'copies'],
  ['key', 'list'],
  ['apply', 'gateway.yaml', '--yes'],
])('%s without an installation prints an error and creates none', async (...words) => {
  const { code, output, complaint } = await run(...words);
  expect([code, output]).toEqual([78, '']);
  expect(complaint).toMatch(
    /^There is no installation in \S+\/\.data\. Give the command the settings of the service/,
  );
  expect(existsSync(join(scratchFolder, '.data'))).toBe(false);
});

/** Finds every command line in the README and the documents, in code blocks and in sentences. */
function findDocumentedCalls(): { readonly file: string; readonly line: string }[] {
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

test('every documented command and option exists', () => {
  const calls = findDocumentedCalls().filter(({ line }) => !line.includes('|'));
  expect(calls.length).toBeGreaterThan(20);
  const problems = calls.flatMap(({ file, line }) => {
    const args = line.split(/\s+/);
    const name = [args.slice(0, 2).join(' '), args[0] ?? ''].find((each) => each in commands);
    const command = name === undefined ? undefined : commands[name];
    if (command === undefined) return [`${file}: no command: ${line}`];
    const unknown = args.filter((word) => word.startsWith('--') && !command.usage.includes(word));
    return unknown.map((option) => `${file}: ${option} is no option of ${name}`);
  });
  expect(problems).toEqual([]);
});
