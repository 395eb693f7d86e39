'use strict';
// Runs before everything else: makes a fresh copy of the project ready, and costs next to nothing when it is. Only
// what Node itself brings is used. This file keeps to old syntax, so that an old Node can read on to the message.
const wanted = [20, 19];
const version = process.versions.node.split('.').map(Number);

if (version[0] < wanted[0] || (version[0] === wanted[0] && version[1] < wanted[1])) {
  console.error(
    'Switchboard needs Node ' +
      wanted.join('.') +
      ' or newer; this is Node ' +
      process.versions.node +
      '.\n' +
      'Install a current Node (https://nodejs.org) and run the command again.',
  );
  process.exit(1);
}

const advice = {
  EACCES: 'Give this user the folder of the project, or start as the user who owns it.',
  EROFS: 'The folder of the project has to be writable until everything is installed and built.',
  ENOSPC: 'The disk is full; the installation needs about 1 GB.',
};

/** The path of the Node that the project runs with. */
function prepare() {
  return require('./bootstrap/prepare.cjs')
    .prepare()
    .catch(function (error) {
      console.error('\nSwitchboard could not be prepared: ' + error.message);
      if (advice[error.code]) console.error(advice[error.code]);
      process.exit(error.exitCode || 1);
    });
}

module.exports = prepare;
if (require.main === module) prepare();
