'use strict';
// `npm run dev` lists what can be run here, and runs it: what it needs is installed and built before, once. The other
// scripts of package.json are short names for it. An old Node has to understand this file up to its own check.
const prepare = require('./bootstrap.cjs');
const fs = require('node:fs');
const { scripts } = require('../package.json');
const { isEnough } = require('./bootstrap/node.cjs');
const { inProject, run } = require('./bootstrap/run.cjs');

/** `prove money` is proofs/money/prove-money.ts; README has the lines of these. */
const folders = { prove: 'proofs', bench: 'bench' };

const others = {
  test: ['node_modules/jest/bin/jest.js', 'all tests, or those that are named'],
  check: ['scripts/check.cjs', 'types, lint, format, imports, unused code, lock file'],
  'verify:image': ['scripts/start-as-image.cjs', 'the artefact, started as the image starts it'],
  'pack:extension': [
    'scripts/pack-extension.cjs',
    'the contract of extensions as a package, in dist/packages',
  ],
  'verify:operations': [
    'scripts/verify-operations.cjs',
    'what of the contract is served, and has a scenario',
  ],
  generate: [
    'dist/src/platform/config/generate-docs.js',
    'writes docs/configuration.md, .env.example and docs/metrics.md from what is declared',
  ],
  pictures: ['dist/proofs/pages/take-pictures.js', 'takes the pictures of the portal again'],
  cli: ['bin/switchboard.cjs', 'the command line of the product; --help lists its commands'],
};

/** Each short name has the file that runs, and what it is for. */
function everything() {
  const readme = fs.readFileSync(inProject('README.md'), 'utf8');
  const all = {};
  for (const name of Object.keys(scripts)) {
    const [kind, part] = name.split(':');
    if (!(kind in folders)) continue;
    const [, line = ''] = new RegExp(`^npm run ${name} +# (.+)$`, 'm').exec(readme) || [];
    all[name] = [`dist/${folders[kind]}/${part}/${kind}-${part}.js`, line];
  }
  return Object.assign(all, others);
}

function list(all, only) {
  const names = Object.keys(all).filter((name) => only === undefined || name.split(':')[0] === only);
  const lines = names.map((name) => `  ${name.replace(':', ' ').padEnd(20)}  ${all[name][1]}`);
  console.log(`npm run dev -- <name> [arguments]\n\n${lines.join('\n')}`);
}

async function main(words) {
  const all = everything();
  const [kind, part] = words;
  const names = Object.keys(all);
  const name = [`${kind}:${part}`, kind].find((each) => names.includes(each));
  const isKind = names.some((each) => each.startsWith(`${kind}:`));
  if (kind === undefined || (part === undefined && isKind)) return list(all, kind);
  if (name === undefined) {
    console.error(`There is no "${isKind ? `${kind} ${part}` : kind}"; \`npm run dev\` lists what there is.`);
    process.exit(1);
  }
  const node = await prepare();
  if (!isEnough(process.versions.node)) {
    await run(node, [__filename].concat(words), { stdio: 'inherit' });
    return;
  }
  // In this process: a signal, the exit code and the output are the program's own.
  const file = inProject(all[name][0]);
  process.argv.splice(1, name === kind ? 2 : 3, file);
  require(file);
}

main(process.argv.slice(2)).catch((error) => {
  if (error.status === undefined) console.error(error);
  process.exit(error.exitCode || error.status || 1);
});
