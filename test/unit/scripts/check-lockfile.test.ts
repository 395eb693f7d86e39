import { createRequire } from 'node:module';

interface Manifest {
  dependencies?: Record<string, string>;
  overrides?: Record<string, string>;
}

interface Lock {
  packages: Record<string, object>;
}

const { faultsOf, faultsOfFolder, folders } = createRequire(__filename)(
  '../../../scripts/check-lockfile.cjs',
) as {
  faultsOf: (manifest: Manifest, lock: Lock) => string[];
  faultsOfFolder: (folder: string) => string[];
  folders: string[];
};

const manifest: Manifest = { dependencies: { tool: '1.0.0' }, overrides: { inner: '2.0.0' } };
const packages = {
  '': { dependencies: { tool: '1.0.0' } },
  'node_modules/tool': {
    version: '1.0.0',
    optionalDependencies: { 'tool-linux': '1.0.0', 'tool-mac': '1.0.0' },
  },
  'node_modules/tool-linux': { version: '1.0.0', optional: true, os: ['linux'] },
  'node_modules/tool/node_modules/tool-mac': { version: '1.0.0', optional: true, os: ['darwin'] },
  'node_modules/tool/node_modules/inner': { version: '2.0.0' },
};

test('a complete lock file has no fault', () => {
  expect(faultsOf(manifest, { packages })).toEqual([]);
});

test("the project's own lock files have none", () => {
  expect(folders).toEqual(['', 'proofs/clients', 'proofs/lanes', 'bench/gateway/peers']);
  expect(folders.flatMap(faultsOfFolder)).toEqual([]);
});

test('an optional package without an entry is found, on whatever platform it is needed', () => {
  const { 'node_modules/tool/node_modules/tool-mac': _, ...incomplete } = packages;
  expect(faultsOf(manifest, { packages: incomplete })).toEqual([
    'node_modules/tool needs tool-mac on some platform, and the lock has no entry for it',
  ]);
});

test('an entry beside the wrong package does not count', () => {
  const { 'node_modules/tool-linux': moved, ...others } = packages;
  const elsewhere = { ...others, 'node_modules/other/node_modules/tool-linux': moved };
  expect(faultsOf(manifest, { packages: elsewhere })).toHaveLength(1);
});

test('a download address is found', () => {
  const addressed = {
    ...packages,
    'node_modules/tool-linux': { resolved: 'https://registry.example/tool-linux.tgz' },
  };
  expect(faultsOf(manifest, { packages: addressed })).toEqual([
    'node_modules/tool-linux carries a download address',
  ]);
});

test('a manifest that was changed without the lock is found', () => {
  const changed = { dependencies: { tool: '1.0.1' }, overrides: { inner: '2.0.1' } };
  expect(faultsOf(changed, { packages })).toEqual([
    'dependencies differ between package.json and package-lock.json',
    'node_modules/tool/node_modules/inner is 2.0.0, but package.json overrides it with 2.0.1',
  ]);
});
