'use strict';
// Starts the artefact as the image does: the files that the Dockerfile copies and no others, read-only, in production,
// as a user without rights. It has to answer a request and to leave its folder as it was, within a minute.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { performance } = require('node:perf_hooks');
const { inProject } = require('./bootstrap/run.cjs');

const DEADLINE_MS = 60_000;
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** The last stage of the Dockerfile gives the files, the environment and the command. */
function readDockerfile() {
  const text = fs.readFileSync(inProject('Dockerfile'), 'utf8');
  const last = text.slice(text.lastIndexOf('\nFROM '));
  const words = (pattern, of) => (pattern.exec(of)?.[1] ?? '').trim().split(/\s+/).filter(Boolean);
  return {
    paths: [...last.matchAll(/^COPY --from=build \/app\/(\S+)/gm)].map(([, path]) => path),
    // These are files that the build removes; those it never sees are not compiled.
    left: [
      ...words(/\brm -rf ([^&\n]+)/, text),
      ...words(/([^]*)/, fs.readFileSync(inProject('.dockerignore'), 'utf8')).map((name) => `dist/${name}`),
    ],
    environment: Object.fromEntries(words(/^ENV (.*)$/m, last).map((pair) => pair.split('='))),
    command: JSON.parse(/^CMD (\[.*\])$/m.exec(last)?.[1] ?? '[]'),
  };
}

function layOut(folder, { paths, left }) {
  const leftOut = new Set(left.map((path) => inProject(...path.split('/'))));
  for (const path of paths) {
    const source = inProject(...path.split('/'));
    if (path === 'node_modules') fs.symlinkSync(source, join(folder, path));
    else fs.cpSync(source, join(folder, path), { recursive: true, filter: (file) => !leftOut.has(file) });
  }
}

const filesIn = (folder) =>
  fs
    .readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) =>
      entry.isDirectory() ? filesIn(join(folder, entry.name)) : [join(folder, entry.name)],
    );

function setReadOnly(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) setReadOnly(join(folder, entry.name));
  fs.chmodSync(folder, 0o555);
}

async function main() {
  const image = readDockerfile();
  const root = fs.mkdtempSync(join(tmpdir(), 'switchboard-image-'));
  const [app, data] = ['app', 'data'].map((name) => join(root, name));
  fs.chmodSync(root, 0o755);
  fs.mkdirSync(app);
  fs.mkdirSync(data, { mode: 0o700 });
  if (isRoot) fs.chownSync(data, NOBODY, NOBODY);
  layOut(app, image);
  setReadOnly(app);
  const before = filesIn(app).join('\n');
  try {
    await ask(app, image, { DATA_FOLDER: data, HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0' });
    if (filesIn(app).join('\n') !== before) throw new Error('it has changed its own folder');
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
}

async function ask(app, { command: [program, ...words], environment }, own) {
  if (program !== 'node') throw new Error(`the image starts ${program}, which is not known here`);
  const env = { PATH: process.env.PATH, HOME: own.DATA_FOLDER, ...environment, ...own };
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const child = spawn(process.execPath, words, { cwd: app, env, stdio: ['ignore', 'pipe', 'pipe'], ...user });
  const ended = once(child, 'close');
  let isLate = false;
  const deadline = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, DEADLINE_MS);
  let said = '';
  const shown = new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text;
        if (said.includes('first-start.txt')) resolve();
      });
  });
  try {
    await Promise.race([shown, ended]);
    if (!said.includes('first-start.txt'))
      throw new Error(`it did not start${isLate ? ' in time' : ''}:\n${said}`);
    const url = / is ready at (http:\S+)/.exec(said)[1];
    if (/svc_\w+/.test(said)) throw new Error('it printed a key, which logs would keep');
    const kept = fs.readFileSync(join(own.DATA_FOLDER, 'first-start.txt'), 'utf8');
    const key = /demo key +(svc_\w+)/.exec(kept)[1];
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'Hello' }] }),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    if (answer.status !== 200) throw new Error(`it answered ${answer.status}: ${await answer.text()}`);
  } finally {
    clearTimeout(deadline);
    child.kill('SIGTERM');
    await ended;
  }
  if (child.exitCode !== 0) throw new Error(`it ended with ${child.exitCode ?? child.signalCode}:\n${said}`);
}

const startedAt = performance.now();
main().then(
  () =>
    console.log(
      `started as the image: answered in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
    ),
  (error) => {
    console.error(`The image would not run: ${error.message}`);
    process.exit(1);
  },
);
