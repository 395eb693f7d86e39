'use strict';
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const { runInstallScripts } = require('./install-scripts.cjs');
const { announced, inProject, npm } = require('./run.cjs');

const marker = inProject('node_modules', '.bootstrap');

/** The packages as the lock file says, including those that compile the product. */
function dependencies(node) {
  const state = () => {
    const lock = createHash('sha256').update(fs.readFileSync(inProject('package-lock.json')));
    return [lock.digest('hex'), node.major(), process.platform, process.arch].join(' ');
  };
  return {
    isCurrent: () => fs.existsSync(marker) && fs.readFileSync(marker, 'utf8') === state(),
    make: () =>
      announced('Installing the packages (one to three minutes the first time)', async () => {
        // NODE_ENV=production would leave the compiler out.
        await npm(['ci', '--include=dev', '--ignore-scripts']);
        await runInstallScripts();
        // Written last, so that an interrupted installation is done again.
        fs.writeFileSync(marker, state());
      }),
  };
}

module.exports = { dependencies };
