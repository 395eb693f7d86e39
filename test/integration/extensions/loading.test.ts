import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startTestApp } from '../../support/app';
import { buildExtension } from '../../support/extension-folder';
import { makeScratchFolder } from '../../support/scratch';

const scratchFolder = makeScratchFolder('switchboard-extensions-');
afterAll(() => rmSync(scratchFolder, { recursive: true, force: true }));

let extensionCount = 0;

/** Writes an extension with these JavaScript fields and returns its folder. */
function writeExtension(fields: string): string {
  const folder = join(scratchFolder, `e${(extensionCount += 1)}`);
  mkdirSync(folder);
  const defaultFields = `id: 'tried', version: '1.0.0', host: '^1', setup: () => ({})`;
  writeFileSync(join(folder, 'index.js'), `exports.default = { ${defaultFields}, ${fields} };`);
  return folder;
}

const refusalOf = async (list: string, environment: Record<string, string> = {}): Promise<string> => {
  const app = await startTestApp({ environment: { EXTENSIONS: list, ...environment } }).catch(
    (error: unknown) => error,
  );
  if (app instanceof Error) return app.message;
  await (app as Awaited<ReturnType<typeof startTestApp>>).close();
  return 'it started';
};

test('extensions are set up before the service starts, in the order of the list', async () => {
  const typedExtension = buildExtension('test/fixtures/extensions/typed');
  const list = `${typedExtension.path},./test/fixtures/extensions/plain.cjs`;
  const app = await startTestApp({ environment: { EXTENSIONS: list } });
  try {
    const lines = app.log.filter((line) => line.includes(' is set up'));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { extension: 'typed', msg: 'typed is set up' },
      { extension: 'plain', msg: 'plain is set up' },
    ]);
  } finally {
    await app.close();
    typedExtension.remove();
  }
});

describe('Refused start that names the extension', () => {
  test.each([
    [
      'for another version of the contract',
      `host: '^2'`,
      'written for the contract ^2, and this service offers 1.',
    ],
    ['for a later version of the contract', `host: '^1.99'`, 'written for the contract ^1.99'],
    ['for a range that is none', `host: '*'`, 'is no range such as ^1'],
    ['for a port that there is not', `needs: ['ledger']`, 'it needs "ledger"; there are records.read'],
    ['for a setup that throws', `setup() { throw new Error('no licence') }`, 'setup() failed: no licence'],
    ['for a setup that adds what is unknown', `setup: () => ({ doors: [] })`, 'returned "doors"'],
    [
      'for a gate without a deadline',
      `setup: () => ({ gates: [{ name: 'g', onError: 'open', request() {} }] })`,
      'g of gates needs a timeoutMs',
    ],
    [
      'for a style of suppliers that cannot make a call',
      `setup: () => ({ suppliers: [{ name: 's', credential: 'bearer' }] })`,
      's of suppliers needs needsCredential()',
    ],
    [
      'for a style of suppliers with the name of one of ours',
      `setup: () => ({ suppliers: [{ name: 'openai-style', credential: 'bearer', needsCredential() {}, operations() {},
        fields() {}, target() {}, prepare() {}, readError() {} }] })`,
      'its style of suppliers openai-style has the name of one of core',
    ],
    [
      'for a port that is used too early',
      `needs: ['db'], setup: ({ ports }) => ({ gates: ports.db })`,
      'used the port db before the service had started',
    ],
  ])('%s', async (_what, fields, expected) => {
    const message = await refusalOf(writeExtension(fields));
    expect(message).toContain('The extension tried cannot be used');
    expect(message).toContain(expected);
  });

  test('for invalid settings, whose values are not shown', async () => {
    const schema = `settings: { '~standard': { version: 1, vendor: 'test', validate: (given) => given.depth === '3'
      ? { value: given } : { issues: [{ message: 'expected 3', path: ['depth'] }] } } }`;
    const folder = writeExtension(schema);
    const message = await refusalOf(folder, { EXT_TRIED_DEPTH: 'hunter2' });
    expect(message).toContain('variables that begin with EXT_TRIED_\n  depth: expected 3');
    expect(message).not.toContain('hunter2');
    expect(await refusalOf(folder, { EXT_TRIED_DEPTH: '3' })).toBe('it started');
  });

  test('for a path without a module, a missing package and a module that throws', async () => {
    expect(await refusalOf('./nowhere')).toContain(
      'The extension ./nowhere cannot be used: there is no module at',
    );
    expect(await refusalOf('@acme/none')).toContain('no package of this name is installed');
    const folder = writeExtension('');
    writeFileSync(join(folder, 'index.js'), 'throw new Error("half a file")');
    expect(await refusalOf(folder)).toContain('half a file');
  });

  test('for an id that is reserved for the service', async () => {
    for (const id of ['core', 'http'])
      expect(await refusalOf(writeExtension(`id: '${id}'`))).toContain(
        `its id "${id}" stands for the service itself`,
      );
  });

  test('for two extensions with the same id', async () => {
    const [one, other] = [writeExtension(''), writeExtension('')];
    expect(await refusalOf(`${one},${other}`)).toContain('two are listed under this id');
  });

  test('for files that do not match the configured digest', async () => {
    const folder = writeExtension('');
    const [, digest] = /have the digest sha256=([0-9a-f]{64})/.exec(
      await refusalOf(`${folder}#sha256=${'0'.repeat(64)}`),
    )!;
    expect(await refusalOf(`${folder}#sha256=${digest}`)).toBe('it started');
    writeFileSync(join(folder, 'other.txt'), 'another file');
    expect(await refusalOf(`${folder}#sha256=${digest}`)).toContain('have the digest');
    expect(await refusalOf(`${resolve(folder)}#md5=1`)).toContain('is not #sha256=');
  });

  test('for a linked file that does not match the configured digest', async () => {
    const folder = writeExtension('');
    const outside = join(scratchFolder, 'outside.js');
    writeFileSync(outside, '// One.');
    symlinkSync(outside, join(folder, 'linked.js'));
    const [, digest] = /have the digest sha256=([0-9a-f]{64})/.exec(
      await refusalOf(`${folder}#sha256=${'0'.repeat(64)}`),
    )!;
    writeFileSync(outside, '// Two.');
    expect(await refusalOf(`${folder}#sha256=${digest}`)).toContain('have the digest');
  });
});
