#!/usr/bin/env node
/*
 * The command line, as `npx switchboard` and without npm's own lines: what it prints is what the command says, so that
 * `switchboard export > gateway.yaml` is the file.
 */
const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const project = join(__dirname, '..');
const program = join(project, 'dist/bundle/cli.js');
// The same Node.js that npm's scripts take: the project's own, where the machine's is older.
const own = join(project, 'node_modules/.bin/node');
const settings = join(project, '.env');

if (!existsSync(program)) {
  process.stderr.write('The service has not been built yet: run "npm start" or "npm run build" once.\n');
  process.exit(1);
}

const child = spawn(
  existsSync(own) ? own : process.execPath,
  [...(existsSync(settings) ? [`--env-file=${settings}`] : []), program, ...process.argv.slice(2)],
  { stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 128 + require('node:os').constants.signals[signal]);
});
