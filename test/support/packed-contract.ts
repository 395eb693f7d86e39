import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Outcome, Program, projectFolder } from '../system/program';

/** The script of npm, which runs the tests or stands on the path. */
function npmScript(): string {
  const given = process.env['npm_execpath'];
  if (given !== undefined) return given;
  const folder = (process.env['PATH'] ?? '').split(delimiter).find((each) => existsSync(join(each, 'npm')));
  return realpathSync(join(folder ?? '', 'npm'));
}

const environment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? '',
  npm_execpath: npmScript(),
});

async function succeeded(program: Program): Promise<Outcome> {
  const outcome = await program.finish(120_000);
  if (outcome.code !== 0) throw new Error(`${program.name} ended with ${outcome.code}: ${outcome.text}`);
  return outcome;
}

/** The contract as a team gets it: a file that npm installs. */
export async function packContract(folder: string): Promise<string> {
  const script = join(projectFolder, 'scripts/pack-extension.cjs');
  const { output } = await succeeded(Program.run(process.execPath, [script, folder], environment()));
  return output.trim();
}

/** Installs what a folder's package.json names, from files alone. */
export async function installOffline(folder: string): Promise<void> {
  // Nothing was ever kept in an empty cache, so that whatever is asked for beside files is missed.
  const words = [
    'install',
    '--offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--cache',
    join(folder, '.npm'),
  ];
  await succeeded(Program.run(process.execPath, [npmScript(), ...words], environment(), { folder }));
}

/** The project's own compiler takes the place of one from a registry. */
export function withOwnCompiler(folder: string): void {
  const file = join(folder, 'package.json');
  const content = JSON.parse(readFileSync(file, 'utf8')) as { devDependencies: Record<string, string> };
  content.devDependencies['typescript'] = `file:${join(projectFolder, 'node_modules/typescript')}`;
  writeFileSync(file, JSON.stringify(content));
}

export const compileFolder = (folder: string): Promise<Outcome> =>
  succeeded(
    Program.run(process.execPath, [join(projectFolder, 'node_modules/typescript/bin/tsc')], environment(), {
      folder,
    }),
  );

/** Runs a script of a folder's package.json. */
export const runScript = (folder: string, name: string): Promise<Outcome> =>
  succeeded(Program.run(process.execPath, [npmScript(), 'run', name], environment(), { folder }));

/** The tests of a folder, by the runner that comes with Node. */
export const testFolder = (folder: string, variables: Record<string, string>): Promise<Outcome> => {
  const words = ['--test', '--test-reporter=tap', 'test/extension.test.mjs'];
  return Program.run(process.execPath, words, { ...environment(), ...variables }, { folder }).finish(200_000);
};
