'use strict';
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const { join } = require('node:path');
const { runInstallScripts } = require('./install-scripts.cjs');
const { announced, inProject, run } = require('./run.cjs');

const stamp = inProject('dist', '.stamp');
const folders = [
  'src',
  'migrations',
  'packages',
  'simulator',
  'gallery',
  'proofs',
  'bench',
  'test/support',
  'test/system',
];
const files = [
  'package-lock.json',
  '.swcrc',
  'nest-cli.json',
  'tsconfig.json',
  'scripts/bundle.cjs',
  'scripts/bundle-entries.cjs',
];

/** The compiled code, and the artefact made of it. Contents decide, not times: a checkout makes everything look new. */
function build(node) {
  return {
    isCurrent: () => fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === fingerprint(),
    make: () =>
      announced('Building', async () => {
        const before = fingerprint();
        await run(node.path, [inProject('node_modules', '@nestjs', 'cli', 'bin', 'nest.js'), 'build'], {
          stdio: ['ignore', 'ignore', 'inherit'],
        });
        await run(node.path, [inProject('scripts', 'bundle.cjs')]);
        fs.writeFileSync(stamp, before);
      }),
  };
}

function fingerprint() {
  const hash = createHash('sha256');
  for (const path of [...files, ...folders.flatMap(filesBelow)]) {
    const content = fs.readFileSync(inProject(path));
    hash.update(`${path}\n${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

/** Paths within the project; packages that a proof installed for itself are nothing that is compiled. */
function filesBelow(folder) {
  if (!fs.existsSync(inProject(folder))) return [];
  return fs
    .readdirSync(inProject(folder), { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesBelow(path);
      return entry.isFile() ? [path] : [];
    })
    .sort();
}

module.exports = { build, fingerprint };

// `npm run build` after `npm ci`, which runs no install scripts; in the image, too.
if (require.main === module) void runInstallScripts().then(() => build({ path: process.execPath }).make());
