'use strict';
// Makes the contract of extensions a package: compiled, with its declarations, in dist/packages or the folder named.
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const { join, resolve } = require('node:path');
const { inProject, npm, run } = require('./bootstrap/run.cjs');

const from = inProject('packages', 'extension');

async function pack(folder, staged) {
  const compiler = inProject('node_modules', 'typescript', 'bin', 'tsc');
  await run(process.execPath, [compiler, '--project', from, '--outDir', join(staged, 'dist')]);
  for (const name of ['package.json', 'README.md', 'LICENSE'])
    fs.cpSync(join(from, name), join(staged, name));
  fs.mkdirSync(folder, { recursive: true });
  await npm(['pack', staged, '--pack-destination', folder, '--ignore-scripts']);
  const { name, version } = require(join(staged, 'package.json'));
  console.log(join(folder, `${name.slice(1).replace('/', '-')}-${version}.tgz`));
}

async function main(named) {
  const folder = named === undefined ? inProject('dist', 'packages') : resolve(named);
  const staged = fs.mkdtempSync(join(tmpdir(), 'switchboard-pack-'));
  try {
    await pack(folder, staged);
  } finally {
    fs.rmSync(staged, { recursive: true, force: true });
  }
}

main(process.argv[2]).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
