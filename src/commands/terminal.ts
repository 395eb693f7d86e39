import { createInterface } from 'node:readline/promises';
import { processEnvironment } from '../platform';
import type { CliContext } from './command';

/** A reader that has seen enough (`| head`) closes the pipe: the command ends without an error. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

export const terminal: CliContext = {
  environment: processEnvironment,
  write: (text) => process.stdout.write(text),
  writeStderr: (text) => process.stderr.write(text),
  async confirm(question) {
    if (!process.stdin.isTTY) return false;
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    try {
      return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
    } finally {
      lines.close();
    }
  },
};
