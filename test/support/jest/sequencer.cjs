'use strict';
// The order of test files. Jest takes the largest first where it knows no times, as in a fresh clone. Files of the
// browser are short to read and long to run: the last of them would run while the other worker is idle.
const { sep } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

const inBrowser = ({ path }) => path.includes(`${sep}test${sep}browser${sep}`);

class BrowserFirst extends Sequencer {
  /** In turn with the others: a browser keeps a core busy, and most other files wait for something. */
  sort(tests) {
    const ordered = super.sort(tests);
    const others = ordered.filter((test) => !inBrowser(test));
    const turns = ordered.filter(inBrowser).flatMap((test) => [test, ...others.splice(0, 1)]);
    return [...turns, ...others];
  }
}

module.exports = BrowserFirst;
