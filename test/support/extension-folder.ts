import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { transformSync } from '@swc/core';
import { makeScratchFolder } from './scratch';

/** Proofs run this file from the build folder, below the project. */
const project = findNearestFolder('.swcrc', __dirname);

export interface ExtensionFolder {
  /** Value for `EXTENSIONS`. */
  readonly path: string;
  remove(): void;
}

/** Builds an extension as a team would: compiled, in its own folder, with the contract in node_modules. */
export function buildExtension(source: string): ExtensionFolder {
  const scratch = makeScratchFolder('switchboard-extension-');
  const path = join(scratch, 'extension');
  cpSync(resolve(project, source), path, { recursive: true });
  compile(join(path, 'src'), join(path, 'dist'));
  const contract = join(path, 'node_modules', '@switchboard', 'extension');
  compile(join(project, 'packages', 'extension', 'src'), join(contract, 'dist'));
  cpSync(join(project, 'packages', 'extension', 'package.json'), join(contract, 'package.json'));
  return { path, remove: () => rmSync(scratch, { recursive: true, force: true }) };
}

function compile(from: string, to: string): void {
  const options = JSON.parse(readFileSync(join(project, '.swcrc'), 'utf8')) as Record<string, unknown>;
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    const { code } = transformSync(readFileSync(file, 'utf8'), {
      ...options,
      filename: file,
      swcrc: false,
      module: { type: 'commonjs' },
      sourceMaps: false,
    });
    const outputPath = join(to, relative(from, file).replace(/\.ts$/, '.js'));
    mkdirSync(dirname(outputPath), { recursive: true });
    writeFileSync(outputPath, code);
  }
}

function findNearestFolder(file: string, folder: string): string {
  return existsSync(join(folder, file)) ? folder : findNearestFolder(file, dirname(folder));
}
