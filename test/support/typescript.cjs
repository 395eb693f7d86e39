'use strict';
// Lets a child process of a test run TypeScript straight from the sources: node --require this file.
const { transformFileSync } = require('@swc/core');

require.extensions['.ts'] = (module, file) => module._compile(transformFileSync(file).code, file);
