import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsOf, documentsOf, misplacedIn } from '../../../proofs/documents/commands';
import { notRun } from '../../../proofs/documents/not-run';
import { steps } from '../../../proofs/documents/steps';

const project = join(__dirname, '../../..');
const documented = commandsOf(project);
const read = (file: string): string => readFileSync(join(project, file), 'utf8');

test('every documented command is run by npm run prove:documents, or a reason says why it is not', () => {
  expect(documented.length).toBeGreaterThan(60);
  const run = new Set(steps.map(({ command }) => command));
  const ways = documented.map(({ file, line, text }) => ({
    command: `${file}:${line} ${text}`,
    ways: Number(run.has(text)) + notRun.filter(({ commands }) => commands.test(text)).length,
  }));
  expect(ways.filter((each) => each.ways !== 1)).toEqual([]);
});

test('what is run, and what is not, is documented', () => {
  const texts = documented.map(({ text }) => text);
  expect(steps.filter(({ command }) => !texts.includes(command))).toEqual([]);
  expect(notRun.filter(({ commands }) => !texts.some((text) => commands.test(text)))).toEqual([]);
});

test('commands stand in blocks of a shell', () => {
  expect(documentsOf(project).flatMap((file) => misplacedIn(file, read(file)))).toEqual([]);
});

test('every documented script is one of package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = documentsOf(project).flatMap((file) =>
    [...read(file).matchAll(/npm run ([a-z]+(?::[a-z]+)?)\b(?!:)/g)].map(
      ([, name = '']) => `${file}: ${name}`,
    ),
  );
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((each) => !((each.split(': ')[1] ?? '') in scripts))).toEqual([]);
});

test('every proof and bench of package.json is in the README', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const page = read('README.md');
  const names = Object.keys(scripts).filter((name) => /^(?:prove|bench):/.test(name));
  expect(names.filter((name) => !page.includes(`npm run ${name} `))).toEqual([]);
});

test('documented selections of tests select some', () => {
  const words = documented.flatMap(({ text }) => /^npm test -- (.+)$/.exec(text)?.[1] ?? []);
  const [name] = words.flatMap((word) => /^-t '(.+)'$/.exec(word)?.[1] ?? []);
  const sources = readdirSync(join(project, 'test'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.test.ts'),
  );
  expect(sources.some((file) => read(join('test', file)).includes(`test('${name}`))).toBe(true);
  const projects = words.flatMap((word) => /^--selectProjects (\w+)$/.exec(word)?.[1] ?? []);
  expect(projects).toEqual(['unit']);
  expect(read('jest.config.js')).toContain(`displayName: '${projects[0]}'`);
});
