import { createRequire } from 'node:module';

interface PackageManifest {
  dependencies?: Record<string, string>;
  overrides?: Record<string, string>;
}

interface LockFile {
  packages: Record<string, object>;
}

const { faultsOf, faultsOfFolder, folders } = createRequire(__filename)(
  '../../../scripts/check-lockfile.cjs',
) as {
  faultsOf: (manifest: PackageManifest, lock: LockFile) => string[];
  faultsOfFolder: (folder: string) => string[];
  folders: string[];
};

const manifest: PackageManifest = { dependencies: { tool: '1.0.0' }, overrides: { inner: '2.0.0' } };
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

test('complete lock file has no issues', () => {
  expect(faultsOf(manifest, { packages })).toEqual([]);
});

test('lock files of the project have no issues', () => {
  expect(folders).toEqual(['', 'proofs/clients', 'proofs/lanes', 'bench/gateway/peers']);
  expect(folders.flatMap(faultsOfFolder)).toEqual([]);
});

test('missing optional package is reported regardless of its platform', () => {
  const { 'node_modules/tool/node_modules/tool-mac': _, ...incomplete } = packages;
  expect(faultsOf(manifest, { packages: incomplete })).toEqual([
    'node_modules/tool needs tool-mac on some platform, and the lock has no entry for it',
  ]);
});

test('entry next to the wrong package is ignored', () => {
  const { 'node_modules/tool-linux': moved, ...others } = packages;
  const misplacedPackages = { ...others, 'node_modules/other/node_modules/tool-linux': moved };
  expect(faultsOf(manifest, { packages: misplacedPackages })).toHaveLength(1);
});

test('download URL is reported', () => {
  const packagesWithUrl = {
    ...packages,
    'node_modules/tool-linux': { resolved: 'https://registry.example/tool-linux.tgz' },
  };
  expect(faultsOf(manifest, { packages: packagesWithUrl })).toEqual([
    'node_modules/tool-linux carries a download address',
  ]);
});

test('manifest changed without the lock file is reported', () => {
  const changedManifest = { dependencies: { tool: '1.0.1' }, overrides: { inner: '2.0.1' } };
  expect(faultsOf(changedManifest, { packages })).toEqual([
    'dependencies differ between package.json and package-lock.json',
    'node_modules/tool/node_modules/inner is 2.0.0, but package.json overrides it with 2.0.1',
  ]);
});
