'use strict';
// How a test file loads modules: tests are its own, the product and its packages are shared by all files of a worker,
// as their modules keep no state. They are thousands, and would be loaded again for each of hundreds of files.
const { dirname, join, sep } = require('node:path');
const { createRequire } = require('node:module');
const { Script, constants } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

const { entries } = require('../../../scripts/bundle-entries.cjs');

const root = join(__dirname, '..', '..', '..');
const requireShared = createRequire(join(root, 'package.json'));
const product = ['src', 'migrations'].map((folder) => join(root, folder) + sep);
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

/** By file, for the stacks of all test files. */
const sourceMaps = new Map();
const artefacts = Object.keys(entries).map((entry) => join(root, 'dist', 'bundle', `${entry}.js`));
for (const file of artefacts) sourceMaps.set(file, `${file}.map`);

/** Of the present test file: it keeps what was transformed on disk. */
let transformCache;

require.extensions['.ts'] = (module, file) => {
  module._compile(transformCache.transform(file), file);
  sourceMaps.set(file, transformCache.getSourceMaps().get(file));
};

class WorkerRuntime extends Runtime {
  constructor(...options) {
    super(...options);
    // Jest's own compiles in the context of `environment.cjs`, which has none.
    this.executor.compile = compile;
    transformCache = this.transformCache;
  }

  requireModuleOrMock(from, name) {
    if (isPackage(name)) return requireShared(name);
    const path = join(dirname(from), name);
    return product.some((folder) => path.startsWith(folder))
      ? requireShared(path)
      : super.requireModuleOrMock(from, name);
  }

  /** Jest asks once, before the test file is loaded: what is found later has to be seen as well. */
  getSourceMaps() {
    const own = super.getSourceMaps();
    return {
      get: (file) => own.get(file) ?? sourceMaps.get(file),
      *[Symbol.iterator]() {
        yield* sourceMaps;
        yield* own;
      },
    };
  }
}

module.exports = WorkerRuntime;
