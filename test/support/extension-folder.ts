import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { transformSync } from '@swc/core';
import { makeScratchFolder } from './scratch';

/** Proofs run this file from the build, below the project. */
const project = nearestWith('.swcrc', __dirname);

export interface ExtensionFolder {
  /** It goes into `EXTENSIONS`. */
  readonly path: string;
  remove(): void;
}

/** An extension as a team would have it: compiled, in a folder of its own, with the contract among its packages. */
export function builtExtension(source: string): ExtensionFolder {
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
    const written = join(to, relative(from, file).replace(/\.ts$/, '.js'));
    mkdirSync(dirname(written), { recursive: true });
    writeFileSync(written, code);
  }
}

function nearestWith(file: string, folder: string): string {
  return existsSync(join(folder, file)) ? folder : nearestWith(file, dirname(folder));
}
