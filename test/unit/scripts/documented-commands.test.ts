import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsOf, documentsOf, misplacedIn } from '../../../proofs/documents/commands';
import { skippedCommands } from '../../../proofs/documents/not-run';
import { steps } from '../../../proofs/documents/steps';

const project = join(__dirname, '../../..');
const documentedCommands = commandsOf(project);
const readProjectFile = (file: string): string => readFileSync(join(project, file), 'utf8');

test('every documented command is run by npm run prove:documents or has a reason not to be', () => {
  expect(documentedCommands.length).toBeGreaterThan(60);
  const provenCommands = new Set(steps.map(({ command }) => command));
  const commandStates = documentedCommands.map(({ file, line, text }) => ({
    command: `${file}:${line} ${text}`,
    ways:
      Number(provenCommands.has(text)) + skippedCommands.filter(({ commands }) => commands.test(text)).length,
  }));
  expect(commandStates.filter((each) => each.ways !== 1)).toEqual([]);
});

test('every command that is run or excluded is documented', () => {
  const texts = documentedCommands.map(({ text }) => text);
  expect(steps.filter(({ command }) => !texts.includes(command))).toEqual([]);
  expect(skippedCommands.filter(({ commands }) => !texts.some((text) => commands.test(text)))).toEqual([]);
});

test('commands are in shell code blocks', () => {
  expect(documentsOf(project).flatMap((file) => misplacedIn(file, readProjectFile(file)))).toEqual([]);
});

test('every documented script exists in package.json', () => {
  const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Record<string, string> };
  const documentedScripts = documentsOf(project).flatMap((file) =>
    [...readProjectFile(file).matchAll(/npm run ([a-z]+(?::[a-z]+)?)\b(?!:)/g)].map(
      ([, name = '']) => `${file}: ${name}`,
    ),
  );
  expect(documentedScripts.length).toBeGreaterThan(60);
  expect(documentedScripts.filter((each) => !((each.split(': ')[1] ?? '') in scripts))).toEqual([]);
});

test('every proof and benchmark of package.json is in the README', () => {
  const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Record<string, string> };
  const page = readProjectFile('README.md');
  const names = Object.keys(scripts).filter((name) => /^(?:prove|bench):/.test(name));
  expect(names.filter((name) => !page.includes(`npm run ${name} `))).toEqual([]);
});

test('documented test selections match existing tests', () => {
  const selections = documentedCommands.flatMap(({ text }) => /^npm test -- (.+)$/.exec(text)?.[1] ?? []);
  const [name] = selections.flatMap((word) => /^-t '(.+)'$/.exec(word)?.[1] ?? []);
  const sources = readdirSync(join(project, 'test'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.test.ts'),
  );
  expect(sources.some((file) => readProjectFile(join('test', file)).includes(`test('${name}`))).toBe(true);
  const projects = selections.flatMap((word) => /^--selectProjects (\w+)$/.exec(word)?.[1] ?? []);
  expect(projects).toEqual(['unit']);
  expect(readProjectFile('jest.config.js')).toContain(`displayName: '${projects[0]}'`);
});
