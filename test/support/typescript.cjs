'use strict';
// Lets a child process of a test run TypeScript straight from the sources: node --require this file. The next
// processes of a run find the modules that one has compiled in the folder that the global setup names.
const { createHash } = require('node:crypto');
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { transformFileSync } = require('@swc/core');

const folder = process.env.SWITCHBOARD_TEST_COMPILED;

function compiled(file) {
  if (folder === undefined) return transformFileSync(file).code;
  const place = join(folder, createHash('sha256').update(file).update(readFileSync(file)).digest('hex'));
  if (existsSync(place)) return readFileSync(place, 'utf8');
  const { code } = transformFileSync(file);
  writeFileSync(`${place}.${process.pid}`, code);
  renameSync(`${place}.${process.pid}`, place);
  return code;
}

require.extensions['.ts'] = (module, file) => module._compile(compiled(file), file);
