'use strict';
// Runs every check:* script of package.json, two at a time, and prints the output of those that fail.
const { spawn } = require('node:child_process');
const { performance } = require('node:perf_hooks');
const { scripts } = require('../package.json');

const atOnce = 2;

function runScript(name) {
  const started = performance.now();
  return new Promise((done) => {
    const child = spawn(process.execPath, [process.env.npm_execpath, 'run', '--silent', name], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    }
    child.on('close', (code) =>
      done({ name, passed: code === 0, output, seconds: (performance.now() - started) / 1000 }),
    );
  });
}

async function main() {
  if (!process.env.npm_execpath) throw new Error('run it through npm: npm run check');
  const waiting = Object.keys(scripts).filter((name) => name.startsWith('check:'));
  const results = [];
  const work = async () => {
    for (let name = waiting.shift(); name; name = waiting.shift()) {
      const result = await runScript(name);
      results.push(result);
      console.log(`${result.passed ? 'passed' : 'FAILED'}  ${name}  ${result.seconds.toFixed(1)} s`);
      if (!result.passed) console.log(result.output);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const failed = results.filter(({ passed }) => !passed).length;
  console.log(`${results.length - failed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

void main();
