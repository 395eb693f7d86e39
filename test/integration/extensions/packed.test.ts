import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { executeCommand } from '#inside/commands/run-command';
import { startTestApp } from '../../support/app';
import {
  compileFolder,
  installOffline,
  packContract,
  testFolder,
  withOwnCompiler,
} from '../../support/packed-contract';
import { makeScratchFolder } from '../../support/scratch';
import { projectFolder } from '../../system/program';

const scratch = makeScratchFolder('switchboard-packed-');
let contract: string;

beforeAll(async () => (contract = await packContract(scratch)));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

async function command(...words: string[]) {
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

test('a team installs the contract without a network, is type-checked against it, and the service loads the result', async () => {
  const folder = join(scratch, 'packed');
  cpSync(join(projectFolder, 'test/fixtures/extensions/packed'), folder, { recursive: true });
  copyFileSync(contract, join(folder, 'contract.tgz'));
  // Under its final name the project's own checks would follow it.
  renameSync(join(folder, 'tsconfig.strict.json'), join(folder, 'tsconfig.json'));
  await installOffline(folder);
  // What may be there is not fetched.
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    '@switchboard',
  ]);
  await compileFolder(folder);
  const lines = await linesOf(folder);
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'packed is set up', depth: 3, ports: ['records.read', 'db'] }),
  );
});

test('the declarations speak of nothing that lies outside of the package', () => {
  const folder = join(scratch, 'packed/node_modules/@switchboard/extension/dist');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.d.ts'),
  );
  expect(files.length).toBeGreaterThan(10);
  const outside = files.flatMap((file) =>
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
  expect(outside).toEqual([]);
});

describe('extension:new', () => {
  test('writes an extension that compiles, and that the service runs', async () => {
    const folder = join(scratch, 'house-rules');
    expect(await command('extension:new', 'house-rules', folder, '--contract', contract)).toMatchObject({
      code: 0,
    });
    withOwnCompiler(folder);
    await installOffline(folder);
    await compileFolder(folder);
    await expect(linesOf(folder)).rejects.toThrow('words: name at least one word');
    await linesOf(folder, { EXT_HOUSE_RULES_WORDS: 'falcon' });
    // Its own test has the kit try it on the service.
    const { code, text: said } = await testFolder(folder, { SWITCHBOARD_PRODUCT: projectFolder });
    expect(said).toMatch(/^# fail 0$/m);
    // A check that has nothing to test is a skipped test, and none that passed.
    expect(said).toMatch(/^ +ok \d+ - taps: .*\(skipped: it has no taps\) # SKIP/m);
    expect(said).toMatch(/^# skipped [1-9]\d*$/m);
    expect(code).toBe(0);
    expect(readdirSync(folder).filter((name) => name.startsWith('.kit-'))).toEqual([]);
  }, 240_000);

  test('writes nothing over what is there, and nothing under a name that is no id', async () => {
    const folder = join(scratch, 'once');
    expect((await command('extension:new', 'once', folder, '--contract', contract)).code).toBe(0);
    const before = readFileSync(join(folder, 'package.json'), 'utf8');
    expect(await command('extension:new', 'twice', folder, '--contract', contract)).toMatchObject({
      code: 1,
      text: `${folder} is not empty. Nothing was written.\n`,
    });
    expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe(before);
    expect((await command('extension:new', 'Not_An_Id', join(scratch, 'no'))).code).toBe(64);
    expect(
      (await command('extension:new', 'lost', join(scratch, 'no'), '--contract', './none.tgz')).code,
    ).toBe(1);
    expect(existsSync(join(scratch, 'no'))).toBe(false);
  });
});
