import { join } from 'node:path';
import { Program } from '../system/program';

/** Runs a TypeScript file of the tests in a process of its own, which a test may then kill. */
export function runChild(
  file: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Program {
  const compiled = process.env['SWITCHBOARD_TEST_COMPILED'];
  return Program.run(process.execPath, ['--require', join(__dirname, 'typescript.cjs'), file, ...words], {
    ...process.env,
    ...(compiled ? { NODE_COMPILE_CACHE: compiled } : {}),
    ...environment,
  });
}
