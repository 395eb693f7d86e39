'use strict';
// Becomes dist/bundle/main.js. Node's own compile cache knows functions only as they are before anything has run;
// this one is taken after a start, and so holds every function that a start needs, compiled.
const fs = require('node:fs');
const { createRequire } = require('node:module');
const { dirname, join } = require('node:path');
const vm = require('node:vm');
const { setFlags } = require('./engine.cjs');

setFlags();

const file = join(__dirname, 'boot', 'service.js');
const cacheFile = join(__dirname, 'service.cache');

// The bundle is plain ASCII. A cache that another Node has made is refused by the engine, and nothing else happens.
const source = fs.readFileSync(file, 'latin1');
const script = new vm.Script(source, {
  filename: file,
  cachedData: fs.existsSync(cacheFile) ? fs.readFileSync(cacheFile) : undefined,
});
const service = { exports: {} };
script.runInThisContext()(service.exports, createRequire(file), service, file, dirname(file));
void service.exports.runService();

/** The engine refuses a cache that was taken under other flags than those of a start: what the service set goes. */
function keepCache() {
  setFlags();
  fs.writeFileSync(cacheFile, script.createCachedData());
}

module.exports = { keepCache };
