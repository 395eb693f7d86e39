import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withAgent } from './agent';
import { meddle, type Plan } from './meddle';

/** The extension beside a module that stands in its place, and lets it fail where it is told to. */
export interface ExtensionCopy {
  readonly entry: string;
  /** It goes into EXTENSIONS. */
  readonly wrapper: string;
  wrapperWith(plan: Plan): string;
  remove(): void;
}

const PREFIX = '.kit-';

/** It lies within the extension's folder, so that it finds the same packages. */
export function copyOf(path: string, plan: Plan): ExtensionCopy {
  const found = createRequire(join(process.cwd(), 'kit.js')).resolve(resolve(path));
  const folder = statSync(resolve(path)).isDirectory() ? resolve(path) : dirname(found);
  const place = mkdtempSync(join(folder, PREFIX));
  // Node copies no folder into itself, so its parts are copied one by one.
  const isLeft = (name: string): boolean =>
    name === 'node_modules' || name === '.git' || name === '.npm' || name.startsWith(PREFIX);
  for (const name of readdirSync(folder))
    if (!isLeft(name)) cpSync(join(folder, name), join(place, name), { recursive: true, dereference: true });
  const entry = join(place, relative(folder, found));
  let written = 0;
  const wrapperWith = (changed: Plan): string => {
    const file = join(place, `kit-wrapper-${(written += 1)}.mjs`);
    writeFileSync(file, textOf(entry, changed));
    return file;
  };
  return {
    entry,
    wrapper: wrapperWith(plan),
    wrapperWith,
    remove: () => rmSync(place, { recursive: true, force: true }),
  };
}

/** The text of a function goes to the other process, which has none of this package's files. */
const textOf = (entry: string, plan: Plan): string =>
  `const withAgent = ${withAgent.toString()};
const meddle = ${meddle.toString()};
let found = await import(${JSON.stringify(pathToFileURL(entry).href)});
for (let depth = 0; depth < 2 && found?.default !== undefined; depth += 1) found = found.default;
export default meddle(withAgent(found, ${JSON.stringify(plan.agent)}), ${JSON.stringify(plan)});
`;
