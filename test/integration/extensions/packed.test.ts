import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { executeCommand } from '#inside/commands/run-command';
import { startTestApp } from '../../support/app';
import {
  compileFolder,
  installOffline,
  packContract,
  testFolder,
  useOwnCompiler,
} from '../../support/packed-contract';
import { makeScratchFolder } from '../../support/scratch';
import { projectFolder } from '../../system/program';

const scratchFolder = makeScratchFolder('switchboard-packed-');
let contractPackage: string;

beforeAll(async () => (contractPackage = await packContract(scratchFolder)));
afterAll(() => rmSync(scratchFolder, { recursive: true, force: true }));

async function runCommand(...words: string[]) {
  let text = '';
  const write = (said: string): void => void (text += said);
  const confirm = (): Promise<boolean> => Promise.resolve(false);
  const code = await executeCommand(words, { environment: {}, write, writeStderr: write, confirm });
  return { code, text };
}

async function linesOf(extension: string, environment: Record<string, string> = {}) {
  const app = await startTestApp({ environment: { EXTENSIONS: extension, ...environment } });
  await app.close();
  return app.log.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('a team installs the contract offline and compiles against it, and the service loads the result', async () => {
  const folder = join(scratchFolder, 'packed');
  cpSync(join(projectFolder, 'test/fixtures/extensions/packed'), folder, { recursive: true });
  copyFileSync(contractPackage, join(folder, 'contract.tgz'));
  // Renamed only in the copy, because the project's own checks would read a tsconfig.json.
  renameSync(join(folder, 'tsconfig.strict.json'), join(folder, 'tsconfig.json'));
  await installOffline(folder);
  // Optional dependencies are not installed.
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    '@switchboard',
  ]);
  await compileFolder(folder);
  const lines = await linesOf(folder);
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'packed is set up', depth: 3, ports: ['records.read', 'db'] }),
  );
});

test('the type declarations import nothing outside the package', () => {
  const folder = join(scratchFolder, 'packed/node_modules/@switchboard/extension/dist');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.d.ts'),
  );
  expect(files.length).toBeGreaterThan(10);
  const outsideImports = files.flatMap((file) =>
    [
      ...readFileSync(join(folder, file), 'utf8').matchAll(
        /(?:from|import\()\s*['"]([^'"]+)['"]|reference \w+="([^"]+)"/g,
      ),
    ]
      .map(([, from = '', reference = '']) => from + reference)
      .filter(
        (from) =>
          !/^\.{1,2}\/[\w./-]+$|^@nestjs\/(?:common|core)$|^node:http$/.test(from) || from.includes('src'),
      )
      .map((from) => `${file}: ${from}`),
  );
  expect(outsideImports).toEqual([]);
});

describe('extension:new', () => {
  test('creates an extension that compiles and runs in the service', async () => {
    const folder = join(scratchFolder, 'house-rules');
    expect(
      await runCommand('extension:new', 'house-rules', folder, '--contract', contractPackage),
    ).toMatchObject({
      code: 0,
    });
    useOwnCompiler(folder);
    await installOffline(folder);
    await compileFolder(folder);
    await expect(linesOf(folder)).rejects.toThrow('words: name at least one word');
    await linesOf(folder, { EXT_HOUSE_RULES_WORDS: 'falcon' });
    // The generated test runs the kit on the service.
    const { code, text: said } = await testFolder(folder, { SWITCHBOARD_PRODUCT: projectFolder });
    expect(said).toMatch(/^# fail 0$/m);
    // A check that has nothing to test is reported as skipped, not as passed.
    expect(said).toMatch(/^ +ok \d+ - taps: .*\(skipped: it has no taps\) # SKIP/m);
    expect(said).toMatch(/^# skipped [1-9]\d*$/m);
    expect(code).toBe(0);
    expect(readdirSync(folder).filter((name) => name.startsWith('.kit-'))).toEqual([]);
  }, 240_000);

  test('does not overwrite a folder and refuses an invalid id', async () => {
    const folder = join(scratchFolder, 'once');
    expect((await runCommand('extension:new', 'once', folder, '--contract', contractPackage)).code).toBe(0);
    const contentBefore = readFileSync(join(folder, 'package.json'), 'utf8');
    expect(await runCommand('extension:new', 'twice', folder, '--contract', contractPackage)).toMatchObject({
      code: 1,
      text: `${folder} is not empty. Nothing was written.\n`,
    });
    expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe(contentBefore);
    expect((await runCommand('extension:new', 'Not_An_Id', join(scratchFolder, 'no'))).code).toBe(64);
    expect(
      (await runCommand('extension:new', 'lost', join(scratchFolder, 'no'), '--contract', './none.tgz')).code,
    ).toBe(1);
    expect(existsSync(join(scratchFolder, 'no'))).toBe(false);
  });
});
