import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type ProgramOutcome, Program, projectFolder } from '../system/program';

/** Path of the npm script that runs the tests or is on the PATH. */
function npmScript(): string {
  const npmPath = process.env['npm_execpath'];
  if (npmPath !== undefined) return npmPath;
  const folder = (process.env['PATH'] ?? '').split(delimiter).find((each) => existsSync(join(each, 'npm')));
  return realpathSync(join(folder ?? '', 'npm'));
}

const environment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? '',
  npm_execpath: npmScript(),
});

async function requireSuccess(program: Program): Promise<ProgramOutcome> {
  const outcome = await program.finish(120_000);
  if (outcome.code !== 0) throw new Error(`${program.name} ended with ${outcome.code}: ${outcome.text}`);
  return outcome;
}

/** Packs the contract into the tarball that a team installs with npm. */
export async function packContract(folder: string): Promise<string> {
  const script = join(projectFolder, 'scripts/pack-extension.cjs');
  const { output } = await requireSuccess(Program.run(process.execPath, [script, folder], environment()));
  return output.trim();
}

/** Installs the dependencies of a folder's package.json from local files only. */
export async function installOffline(folder: string): Promise<void> {
  // The npm cache is empty, so a package that is not a local file fails to install.
  const args = [
    'install',
    '--offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--cache',
    join(folder, '.npm'),
  ];
  await requireSuccess(Program.run(process.execPath, [npmScript(), ...args], environment(), { folder }));
}

/** Replaces the compiler from the registry with the project's own. */
export function useOwnCompiler(folder: string): void {
  const file = join(folder, 'package.json');
  const content = JSON.parse(readFileSync(file, 'utf8')) as { devDependencies: Record<string, string> };
  content.devDependencies['typescript'] = `file:${join(projectFolder, 'node_modules/typescript')}`;
  writeFileSync(file, JSON.stringify(content));
}

export const compileFolder = (folder: string): Promise<ProgramOutcome> =>
  requireSuccess(
    Program.run(process.execPath, [join(projectFolder, 'node_modules/typescript/bin/tsc')], environment(), {
      folder,
    }),
  );

export const runScript = (folder: string, name: string): Promise<ProgramOutcome> =>
  requireSuccess(Program.run(process.execPath, [npmScript(), 'run', name], environment(), { folder }));

/** Runs the tests of a folder with Node's test runner. */
export const testFolder = (folder: string, variables: Record<string, string>): Promise<ProgramOutcome> => {
  const args = ['--test', '--test-reporter=tap', 'test/extension.test.mjs'];
  return Program.run(process.execPath, args, { ...environment(), ...variables }, { folder }).finish(200_000);
};
