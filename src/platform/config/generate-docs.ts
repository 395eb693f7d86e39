import { readFileSync, writeFileSync } from 'node:fs';
import { configurationPage, environmentExample } from './generate';

// Writes the two files below the working folder; with --check only says whether they are as they should be.
const onlyCheck = process.argv.includes('--check');
for (const [path, content] of [
  ['.env.example', environmentExample()],
  ['docs/configuration.md', configurationPage()],
] as const) {
  if (!onlyCheck) writeFileSync(path, content);
  else if (readFileSync(path, 'utf8') !== content) {
    process.stderr.write(`${path} is not what the settings generate; run it without --check\n`);
    process.exitCode = 1;
  }
}
