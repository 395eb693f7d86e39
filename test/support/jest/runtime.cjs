'use strict';
// How a test file loads modules: the project's are its own, packages are shared by all files of a worker. Nest and
// TypeORM alone are a thousand modules, and would be loaded again for each of hundreds of files.
const { join } = require('node:path');
const { createRequire } = require('node:module');
const { Script, constants } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

const requirePackage = createRequire(join(__dirname, '..', '..', '..', 'package.json'));
const isPackage = (name) => !name.startsWith('.') && !name.startsWith('/');

const scripts = new Map();

/** A function that runs the module. What another file has compiled is not compiled again. */
function compile(code, filename) {
  let known = scripts.get(filename);
  if (known?.code !== code) {
    const wrapped = `(function (module, exports, require, __dirname, __filename, jest) {${code}\n})`;
    const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
    known = { code, script: new Script(wrapped, { filename, importModuleDynamically }) };
    scripts.set(filename, known);
  }
  return known.script.runInThisContext();
}

class WorkerRuntime extends Runtime {
  constructor(...options) {
    super(...options);
    // Jest's own compiles in the context of `environment.cjs`, which has none.
    this.executor.compile = compile;
  }

  requireModuleOrMock(from, name) {
    return isPackage(name) ? requirePackage(name) : super.requireModuleOrMock(from, name);
  }
}

module.exports = WorkerRuntime;
