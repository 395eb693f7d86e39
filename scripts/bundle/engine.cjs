'use strict';
// What a bundled gateway asks of the engine: ADR 19.
const v8 = require('node:v8');

/** Node's own modules come compiled, but for the flags that Node was built with: what every start needs is loaded first. */
for (const name of ['cluster', 'crypto', 'dns', 'http', 'net', 'tls', 'tty', 'zlib']) require(name);
void require('crypto').webcrypto;

/** Those of a start. A compile cache holds only under the flags that it was taken under. */
const flags = [
  '--no-maglev',
  '--semi-space-growth-factor=1',
  // What the service changes once it has started: engine-at-work.ts.
  '--no-minor-gc-task',
  '--heap-growing-percent=0',
  '--no-optimize-for-size',
  '--invocation-count-for-turbofan=10000',
];

const setFlags = () => flags.forEach((flag) => v8.setFlagsFromString(flag));

module.exports = { setFlags };
