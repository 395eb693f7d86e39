'use strict';
// The service in two files. The base is all that its start reaches by plain imports; what is imported with `import()`
// is the other file. It takes modules of the base from there, so that there is one copy of each. Within the base nothing
// changes: functions call one another without the accessors that lie between two files.
const { isAbsolute, relative } = require('node:path');
const { build } = require('esbuild');
const { inProject } = require('./bootstrap/run.cjs');

const nameOfFile = (path) => relative(inProject(), path).replaceAll('\\', '/');
/** What stands for a module is CommonJS, whatever the module is. */
const CJS = '.cjs.ts';
const takenFrom = (file, path) =>
  `module.exports = require('${file}')[${JSON.stringify(path.slice(0, -CJS.length))}];`;
const isFile = ({ errors, external, path }) => errors.length === 0 && !external && isAbsolute(path);
const asked = Symbol('asked by this plugin');

/** The file that an import leads to; undefined for what stays outside, and for questions of our own. */
async function resolved({ resolve }, { path, importer, resolveDir, kind, pluginData }) {
  if (pluginData === asked || kind === 'entry-point') return undefined;
  const found = await resolve(path, { importer, resolveDir, kind, pluginData: asked });
  return isFile(found) ? found.path : undefined;
}

/** Modules that are loaded on demand come from another file, by their path or the name of their package. */
const onDemand = (demanded, file) => ({
  name: 'on demand',
  setup(build) {
    build.onResolve({ filter: /./ }, async (asking) => {
      if (asking.kind !== 'dynamic-import') return undefined;
      // What a package could use stays beside the artefact: it is another's choice, and none of ours is made so.
      if (asking.importer.includes('node_modules')) return { path: asking.path, external: true };
      const path = await resolved(build, asking);
      if (path === undefined) return undefined;
      const name = nameOfFile(path);
      if (!demanded.includes(name)) demanded.push(name);
      return { path: `${name}${CJS}`, namespace: 'demanded' };
    });
    build.onResolve({ filter: /./, namespace: 'demanded' }, () => ({ path: file, external: true }));
    build.onLoad({ filter: /\.ts$/, namespace: 'demanded' }, ({ path }) => ({
      contents: takenFrom(file, path),
    }));
  },
});

/** What the start reaches by plain imports, and what it imports on demand. */
async function baseOf(settings) {
  const demanded = [];
  const { metafile } = await build({
    ...settings,
    plugins: [onDemand(demanded, './pages.js'), ...settings.plugins],
    metafile: true,
    write: false,
  });
  const modules = new Set(
    Object.keys(metafile.inputs).filter((path) => !/^(demanded|dist\/entries)/.test(path)),
  );
  return { modules, demanded };
}

/** Modules of the base are taken from there; `used` learns which. */
const leaveOut = (modules, used, file) => ({
  name: 'left out',
  setup(build) {
    build.onResolve({ filter: /./ }, async (asking) => {
      const path = await resolved(build, asking);
      const name = path === undefined ? '' : nameOfFile(path);
      if (!modules.has(name)) return undefined;
      used.add(name);
      // Modules of our own are one object for all who import them; of a package each importer makes a copy.
      return { path: name.endsWith('.ts') ? name : `${name}${CJS}`, namespace: 'base' };
    });
    build.onResolve({ filter: /./, namespace: 'base' }, ({ path }) =>
      path === file ? { path, external: true } : { path, namespace: 'base' },
    );
    build.onLoad({ filter: /\.ts$/, namespace: 'base' }, ({ path }) => ({
      contents: path.endsWith(CJS) ? takenFrom(file, path) : `export * from ${JSON.stringify(path + CJS)};`,
    }));
  },
});

module.exports = { baseOf, leaveOut, onDemand };
