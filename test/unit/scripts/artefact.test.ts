import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const project = join(__dirname, '..', '..', '..');
const readProjectFile = (file: string): string => readFileSync(join(project, file), 'utf8');

test('image runs the same command as npm start', () => {
  const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Record<string, string> };
  const [, command] = /^CMD (\[.*\])$/m.exec(readProjectFile('Dockerfile')) ?? [];
  const startCommand = ['exec', ...(JSON.parse(command ?? '[]') as string[])].join(' ');
  // The image receives its environment from outside.
  const start = scripts.start?.replace('(exec node scripts/bootstrap.cjs) && ', '');
  expect(startCommand).toBe(start?.replace(' --env-file-if-exists=.env', ''));
});

describe('Proven artefact', () => {
  const filesBelow = (folder: string): string[] =>
    readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
      .map((file) => join(folder, file));
  const proofs = filesBelow('proofs');

  test('is never built from source by a proof', () => {
    const buildingProofs = proofs.filter((file) =>
      /boot\/start-service|@nestjs\/core/.test(readProjectFile(file)),
    );
    expect(buildingProofs).toEqual([]);
  });

  test('is started through a single wrapper, except for small tools and channels', () => {
    const otherFiles = ['bench', 'test/integration', 'test/support', 'test/system'].flatMap(filesBelow);
    const spawningFiles = [...proofs, ...otherFiles].filter((file) =>
      readProjectFile(file).includes("from 'node:child_process'"),
    );
    expect(spawningFiles.sort()).toEqual([
      'bench/gateway/cores.ts',
      'bench/saved-run.ts',
      'proofs/media/prove-media.ts',
      'proofs/money/node-handle.ts',
      'proofs/outages/disk-limit.ts',
      'proofs/outages/drills/slow-senders.ts',
      'proofs/upgrade/released-version.ts',
      // A process that is started by another process.
      'test/integration/extensions/http-gates.test.ts',
      // A process that loses its reader.
      'test/integration/extensions/kit.test.ts',
      'test/integration/simulator/process.test.ts',
      'test/system/postgres-server.ts',
      'test/system/program.ts',
    ]);
  });
});

describe('Artefact without patches', () => {
  const sources = ['src', 'scripts', 'simulator'].flatMap((folder) =>
    readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|cjs)$/.test(file))
      .map((file) => join(folder, file)),
  );

  test('has source files to check', () => expect(sources.length).toBeGreaterThan(400));

  test.each([
    ['changes flags of V8 while it runs', /setFlagsFromString/],
    ['patches a class of the framework', /\b(?!LeanRequest|LeanResponse)\w+\.prototype\.\w+\s*=[^=]/],
    ['alters a package when it is built', /onLoad\(\{ filter: (?!\/\\\.ts\$\/)/],
    ['tunes the allocator of the C library', /MALLOC_/],
  ])('contains no code that %s', (_, pattern) => {
    expect(sources.filter((file) => pattern.test(readProjectFile(file)))).toEqual([]);
    expect(readProjectFile('package.json')).not.toMatch(pattern);
    expect(readProjectFile('Dockerfile')).not.toMatch(pattern);
  });

  test('contains no package that patches another', () => {
    const { scripts, dependencies, devDependencies } = JSON.parse(readProjectFile('package.json')) as Record<
      string,
      Record<string, string>
    >;
    expect(
      Object.keys({ ...dependencies, ...devDependencies }).filter((name) => name.includes('patch')),
    ).toEqual([]);
    expect(Object.keys(scripts ?? {}).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
  });
});
