import { join } from 'node:path';
import { Program } from '../system/program';

/** Runs a TypeScript file of the tests in its own process, so that a test can kill it. */
export function runChild(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Program {
  const compiled = process.env['SWITCHBOARD_TEST_COMPILED'];
  return Program.run(process.execPath, ['--require', join(__dirname, 'typescript.cjs'), file, ...args], {
    ...process.env,
    ...(compiled ? { NODE_COMPILE_CACHE: compiled } : {}),
    ...environment,
  });
}
