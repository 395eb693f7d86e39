import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

export const partialsPrefix = 'partials/';
const layoutLine = /^\{\{!<\s*([\w-]+)\s*\}\}\r?\n?/;

export const splitLayout = (
  source: string,
): { readonly layout: string | undefined; readonly body: string } => ({
  layout: layoutLine.exec(source)?.[1],
  body: source.replace(layoutLine, ''),
});

export function readTemplates(folder: string): [name: string, source: string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.hbs'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [templateName(folder, path), readFileSync(path, 'utf8')]);
}

export function templateName(folder: string, path: string): string {
  return relative(folder, path).slice(0, -'.hbs'.length).split(sep).join('/');
}
