'use strict';
// Tests and Jest's own modules are each file's own; packages and the product, which keep no state, are shared
// within a worker. They are thousands, and would be loaded again hundreds of times.
const { readFileSync } = require('node:fs');
const { createRequire, isBuiltin } = require('node:module');
const { dirname, join } = require('node:path');
const { Script, constants } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

const { entries } = require('../../../scripts/bundle-entries.cjs');

const root = join(__dirname, '..', '..', '..');
const requireShared = createRequire(join(root, 'package.json'));
const isPackage = (name) => !name.startsWith('.') && !name.startsWith('/');

const scripts = new Map();

/** A function that runs the module. A module that another file has compiled is not compiled again. */
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

const mapped = new Set();

/**
 * The first stack with a place in an artefact reads a map of megabytes, and nothing else runs for up to a second. It is
 * taken where a file is loaded: in the middle of a test, something that was in time would be late.
 */
function readMaps() {
  for (const file of artefacts) {
    if (mapped.has(file) || require.cache[file] === undefined) continue;
    mapped.add(file);
    void new Script('new Error().stack', { filename: file }).runInThisContext();
  }
}

const TRANSFORMED = {
  isInternalModule: false,
  supportsDynamicImport: true,
  supportsExportNamespaceFrom: false,
  supportsStaticESM: false,
  supportsTopLevelAwait: false,
};

/** Of the present test file: it keeps what was transformed on disk. */
let transformed;

require.extensions['.ts'] = (module, file) => module._compile(transformed(file), file);

/** What is imported on demand is named as it will be compiled. */
function resolveFrom(from, name) {
  const { resolve } = createRequire(from);
  const source = name.replace(/^(\..*)\.js$/, '$1');
  try {
    return resolve(name);
  } catch (error) {
    if (source === name) throw error;
    return resolve(source);
  }
}

class WorkerRuntime extends Runtime {
  constructor(config, environment, resolver, transformer, cacheFS, coverageOptions, ...others) {
    super(config, environment, resolver, transformer, cacheFS, coverageOptions, ...others);
    this.loaded = new Map();
    transformed = (file) => {
      const { code, sourceMapPath } = transformer.transform(file, { ...TRANSFORMED, ...coverageOptions });
      sourceMaps.set(file, sourceMapPath);
      return code;
    };
  }

  requireModule(from, name = from) {
    return this.load(resolveFrom(from, name), (file) => ({
      code: transformed(file),
      require: (wanted) => this.requireModuleOrMock(file, wanted),
      jest: super.requireModuleOrMock(file, '@jest/globals').jest,
    }));
  }

  requireModuleOrMock(from, name) {
    if (name === '@jest/globals') return super.requireModuleOrMock(from, name);
    if (!isPackage(name)) return this.requireModule(from, name);
    const found = requireShared(name);
    readMaps();
    return found;
  }

  /** Jest's own, which keeps the state of one test file. */
  requireInternalModule(from, name = from) {
    return this.load(createRequire(from).resolve(name), (file) => ({
      code: readFileSync(file, 'utf8'),
      require: (wanted) =>
        isBuiltin(wanted) ? requireShared(wanted) : this.requireInternalModule(file, wanted),
    }));
  }

  load(file, read) {
    if (file.endsWith('.json')) return requireShared(file);
    const known = this.loaded.get(file);
    if (known !== undefined) return known.exports;
    const module = { id: file, filename: file, path: dirname(file), exports: {} };
    this.loaded.set(file, module);
    const { code, require, jest } = read(file);
    module.require = Object.assign(require, { resolve: createRequire(file).resolve });
    compile(code, file).call(module.exports, module, module.exports, require, module.path, file, jest);
    return module.exports;
  }

  /** Jest asks once, before the test file is loaded: what is found later has to be seen as well. */
  getSourceMaps() {
    return sourceMaps;
  }
}

module.exports = WorkerRuntime;
