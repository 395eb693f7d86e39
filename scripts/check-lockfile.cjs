'use strict';
const fs = require('node:fs');
const { join } = require('node:path');
const { unjudged } = require('./bootstrap/install-scripts.cjs');

/**
 * The faults of a lock file make it fail on another platform: npm drops optional packages that its registry
 * lacks at the moment.
 */
function faultsOf(manifest, lock) {
  return [...missingOptional(lock), ...addresses(lock), ...disagreements(manifest, lock)];
}

function missingOptional({ packages }) {
  return Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {})
      .filter((name) => !resolves(packages, path, name))
      .map(
        (name) => `${path || 'the project'} needs ${name} on some platform, and the lock has no entry for it`,
      ),
  );
}

/** Node looks for a package beside its user and then in every folder above. */
function resolves(packages, from, name) {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    if (packages[`${base ? `${base}/` : ''}node_modules/${name}`]) return true;
    if (!base) return false;
  }
}

function addresses({ packages }) {
  return Object.entries(packages)
    .filter(([, entry]) => entry.resolved !== undefined && !entry.link)
    .map(([path]) => `${path} carries a download address`);
}

function disagreements(manifest, { packages }) {
  const locked = packages[''] ?? {};
  const kinds = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies', 'engines'];
  const differing = kinds
    .filter((kind) => canonical(manifest[kind]) !== canonical(locked[kind]))
    .map((kind) => `${kind} differ between package.json and package-lock.json`);
  const overridden = Object.entries(manifest.overrides ?? {}).flatMap(([name, version]) =>
    Object.entries(packages)
      .filter(([path, entry]) => path.endsWith(`node_modules/${name}`) && entry.version !== version)
      .map(([path, entry]) => `${path} is ${entry.version}, but package.json overrides it with ${version}`),
  );
  return [...differing, ...overridden];
}

function canonical(record = {}) {
  return JSON.stringify(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const unjudgedScripts = (lock) =>
  unjudged(lock).map(
    (name) => `${name} has an install script that scripts/bootstrap/install-scripts.cjs does not name`,
  );

/** The product's, those of the clients it is proven with, and that of the gateway it is compared with. */
const folders = ['', 'proofs/clients', 'proofs/lanes', 'bench/gateway/peers'];

function faultsOfFolder(folder) {
  const read = (name) => JSON.parse(fs.readFileSync(join(__dirname, '..', folder, name), 'utf8'));
  const lock = read('package-lock.json');
  return [...faultsOf(read('package.json'), lock), ...(folder === '' ? unjudgedScripts(lock) : [])].map(
    (fault) => `${folder && `${folder}: `}${fault}`,
  );
}

module.exports = { faultsOf, faultsOfFolder, folders };

if (require.main === module) {
  const faults = folders.flatMap(faultsOfFolder);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exit(1);
  console.log('The lock files are complete.');
}
