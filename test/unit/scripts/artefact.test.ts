import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const project = join(__dirname, '..', '..', '..');
const read = (file: string): string => readFileSync(join(project, file), 'utf8');

test('the image runs what npm start runs', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const [, command] = /^CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? [];
  const words = ['exec', ...(JSON.parse(command ?? '[]') as string[])].join(' ');
  // The image has its environment from the outside.
  const start = scripts.start?.replace('(exec node scripts/bootstrap.cjs) && ', '');
  expect(words).toBe(start?.replace(' --env-file-if-exists=.env', ''));
});

describe('what is proven is what ships', () => {
  const below = (folder: string): string[] =>
    readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
      .map((file) => join(folder, file));
  const proofs = below('proofs');

  test('no proof builds the service from its source', () => {
    const builders = proofs.filter((file) => /boot\/start-service|@nestjs\/core/.test(read(file)));
    expect(builders).toEqual([]);
  });

  test('one wrapper starts the programs of all: the others run small tools or talk over a channel', () => {
    const others = ['bench', 'test/integration', 'test/support', 'test/system'].flatMap(below);
    const starters = [...proofs, ...others].filter((file) =>
      read(file).includes("from 'node:child_process'"),
    );
    expect(starters.sort()).toEqual([
      'bench/gateway/cores.ts',
      'bench/kept-run.ts',
      'proofs/media/prove-media.ts',
      'proofs/money/node-handle.ts',
      'proofs/outages/drills/slow-senders.ts',
      'proofs/outages/room.ts',
      'proofs/upgrade/released-version.ts',
      // A process that is started by another one.
      'test/integration/extensions/http-gates.test.ts',
      // One that loses its reader.
      'test/integration/extensions/kit.test.ts',
      'test/integration/simulator/process.test.ts',
      'test/system/postgres-server.ts',
      'test/system/program.ts',
    ]);
  });
});

describe('the artefact is plain', () => {
  const sources = ['src', 'scripts', 'simulator'].flatMap((folder) =>
    readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|cjs)$/.test(file))
      .map((file) => join(folder, file)),
  );

  test('it is found', () => expect(sources.length).toBeGreaterThan(400));

  test.each([
    ['changes flags of V8 while it runs', /setFlagsFromString/],
    ['patches a class of the framework', /\b(?!LeanRequest|LeanResponse)\w+\.prototype\.\w+\s*=[^=]/],
    ['alters a package when it is built', /onLoad\(\{ filter: (?!\/\\\.ts\$\/)/],
    ['tunes the allocator of the C library', /MALLOC_/],
  ])('nothing %s', (_, pattern) => {
    expect(sources.filter((file) => pattern.test(read(file)))).toEqual([]);
    expect(read('package.json')).not.toMatch(pattern);
    expect(read('Dockerfile')).not.toMatch(pattern);
  });

  test('nothing below node_modules is altered: no package patches another', () => {
    const { scripts, dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
      string,
      Record<string, string>
    >;
    expect(
      Object.keys({ ...dependencies, ...devDependencies }).filter((name) => name.includes('patch')),
    ).toEqual([]);
    expect(Object.keys(scripts ?? {}).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
  });
});
