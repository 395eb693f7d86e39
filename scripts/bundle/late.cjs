'use strict';
// Which packages, and which modules of Node, the bundle loads only when something of theirs is used for the first time.
// Most starts use none of them, and what is not loaded costs neither time nor memory.
const { isBuiltin } = require('node:module');
const { dirname } = require('node:path');

/** Modules whose users take what they need from them when they need it, not while they are loaded themselves. */
const late = [
  /[\\/]hbs[\\/]lib[\\/]hbs\.js$/,
  /[\\/]handlebars[\\/]lib[\\/]index\.js$/,
  /[\\/]bullmq[\\/]dist[\\/]cjs[\\/]scripts[\\/]index\.js$/,
  /[\\/]libphonenumber-js[\\/](max[\\/]|min[\\/])?index\.cjs$/,
  /[\\/]prom-client[\\/]lib[\\/]cluster\.js$/,
  /[\\/]multer[\\/]index\.js$/,
  /[\\/]tinyglobby[\\/]dist[\\/]index\.c?js$/,
  /[\\/]ansis[\\/]index\.cjs$/,
  /[\\/]@sqltools[\\/]formatter[\\/]lib[\\/]sqlFormatter\.js$/,
  /[\\/]thread-stream[\\/]index\.js$/,
  /[\\/]cron-parser[\\/]dist[\\/]index\.js$/,
  /[\\/]semver[\\/]index\.js$/,
  /[\\/]@opentelemetry[\\/]api[\\/]dist[\\/]index\.cjs$/,
  /[\\/]nodemailer[\\/]dist[\\/]cjs[\\/]nodemailer\.js$/,
  /[\\/]ioredis[\\/]built[\\/]index\.js$/,
  /[\\/]mime-types[\\/]index\.js$/,
  /[\\/]body-parser[\\/]index\.js$/,
  /[\\/]validator[\\/](index|lib[\\/]is\w+)\.js$/,
  /[\\/]luxon[\\/]build[\\/]node[\\/]luxon\.js$/,
  /[\\/]typeorm[\\/]driver[\\/](?!postgres|types|sqlite-abstract)[a-z0-9-]+[\\/]\w+(Driver|QueryRunner)\.js$/,
  /[\\/]typeorm[\\/](schema-builder[\\/]RdbmsSchemaBuilder|cache[\\/]\w+QueryResultCache)\.js$/,
];

const lateBuiltins =
  /^(node:)?(assert|child_process|cluster|fs\/promises|https|inspector|readline|readline\/promises|worker_threads|zlib)$/;

/** Puts a stand-in before each of them: the same names, each handed on to the real module when it is first used. */
const loadedLate = {
  name: 'loaded-late',
  setup(build) {
    build.onResolve({ filter: /\?real$/ }, ({ path }) =>
      isBuiltin(path.slice(0, -5))
        ? { path: path.slice(0, -5), external: true }
        : { path: path.slice(0, -5), suffix: '?real' },
    );
    build.onResolve({ filter: lateBuiltins }, ({ path }) => ({ path, namespace: 'builtin' }));
    build.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: standIn(path),
      resolveDir: __dirname,
    }));
    build.onLoad({ filter: /node_modules/ }, ({ path, suffix }) => {
      if (suffix === '?real' || !late.some((pattern) => pattern.test(path))) return undefined;
      return { contents: standIn(path), loader: 'js', resolveDir: dirname(path) };
    });
  },
};

function standIn(path) {
  const exported = require(path);
  const itself = typeof exported === 'function' ? `module.exports = ${calling('')};\n` : '';
  const marked =
    '__esModule' in exported ? `Object.defineProperty(exports, '__esModule', { value: true });\n` : '';
  const names = Object.keys(exported).filter((name) => name !== '__esModule');
  return `let loaded;
    const real = () => (loaded ??= require(${JSON.stringify(`${path}?real`)}));
    ${itself}${marked.replace('exports', 'module.exports')}
    Object.defineProperties(module.exports, Object.getOwnPropertyDescriptors({
      ${names.map((name) => (isBuiltin(path) ? getter(name) : member(name, exported[name]))).join('\n')}
    }));`;
}

/** A function may be taken out while modules are loaded, and is called later; a class may be extended. */
function member(name, value) {
  const key = JSON.stringify(name);
  if (typeof value === 'function' && /^[a-z]/.test(name) && !/^class\b/.test(String(value)))
    return `${key}: ${calling(`[${key}]`)},`;
  return getter(name);
}

const getter = (name) => `get ${JSON.stringify(name)}() { return real()[${JSON.stringify(name)}]; },`;

const calling = (access) => `function (...words) { return real()${access}.apply(this, words); }`;

module.exports = { loadedLate };
