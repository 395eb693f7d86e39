'use strict';
// Runs before `npm start` and `npm test`: makes a fresh copy of the project ready, and costs next to nothing when
// it is. Only what Node itself brings is used. This file keeps to old syntax, so that an old Node can read on
// to the message.
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

require('./bootstrap/prepare.cjs')
  .prepare()
  .catch(function (error) {
    console.error('\nSwitchboard could not be prepared: ' + error.message);
    process.exit(error.exitCode || 1);
  });
