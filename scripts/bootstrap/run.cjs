'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { join, resolve } = require('node:path');
const { performance } = require('node:perf_hooks');

const root = resolve(__dirname, '..', '..');

/** Runs to the end; asked to stop meanwhile, it stops the child first and leaves nothing half made behind it. */
function run(file, args, options = {}) {
  return new Promise((done, fail) => {
    const child = spawn(file, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], ...options });
    let stopped;
    const forward = (signal) => {
      stopped = signal;
      child.kill(signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, forward);
    const end = (settle) => {
      for (const signal of signals) process.off(signal, forward);
      settle();
    };
    child.on('error', (error) => end(() => fail(error)));
    child.on('close', (code, signal) =>
      end(() => {
        if (stopped)
          fail(Object.assign(new Error('interrupted'), { exitCode: 128 + constants.signals[stopped] }));
        else if (code !== 0)
          fail(
            Object.assign(new Error(`"${args.join(' ')}" ended with ${signal ?? code}`), {
              status: code ?? 1,
            }),
          );
        else done();
      }),
    );
  });
}

/** The npm that runs this script, quiet and whatever the person's own settings say about development packages. */
function npm(args, options = {}) {
  const npmScript = process.env.npm_execpath;
  if (!npmScript) throw new Error('run it through npm: npm start, npm test or npm run check.');
  const env = { ...process.env, npm_config_engine_strict: 'false' };
  // npm tells its scripts where their project is; for another folder that would be wrong.
  delete env.npm_config_local_prefix;
  const quiet = ['--loglevel=error', '--no-fund', '--no-audit', '--no-progress'];
  return run(process.execPath, [npmScript, ...args, ...quiet], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    ...options,
  });
}

/** Says what takes long, and how long it took. */
async function announced(what, work) {
  const started = performance.now();
  console.log(`${what} …`);
  await work();
  console.log(`${what}: done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

module.exports = { announced, npm, root, run, inProject: (...parts) => join(root, ...parts) };
