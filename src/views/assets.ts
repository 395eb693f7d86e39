import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export const assetBase = '/assets/';

/** Files that npm packages ship and pages load, by their path below the asset base. */
const { resolve } = createRequire(__filename);
const vendorFiles: ReadonlyMap<string, string> = new Map([
  ['vendor/htmx.min.js', resolve('htmx.org/dist/htmx.min.js')],
  ['vendor/marked.umd.js', join(dirname(resolve('marked/package.json')), 'lib/marked.umd.js')],
  ['vendor/purify.min.js', resolve('dompurify/dist/purify.min.js')],
  [
    'vendor/webauthn.min.js',
    join(dirname(resolve('@simplewebauthn/browser')), '../dist/bundle/index.umd.min.js'),
  ],
  ['vendor/swagger-ui.css', resolve('swagger-ui-dist/swagger-ui.css')],
  ['vendor/swagger-ui-bundle.js', resolve('swagger-ui-dist/swagger-ui-bundle.js')],
]);

export type AssetResolver = (name: string) => string;

/**
 * Resolves asset URLs that contain a hash of the content: browsers may cache them forever and still see a new release
 * immediately.
 */
export function createAssetResolver(publicFolder: string): AssetResolver {
  const files = readAssetFiles(publicFolder);
  return (name) => {
    const file = files.get(name);
    if (file === undefined) throw new Error(`There is no asset named "${name}"`);
    return `${assetBase}${name}?v=${file.version}`;
  };
}

export interface AssetFile {
  readonly path: string;
  readonly version: string;
}

export function readAssetFiles(publicFolder: string): ReadonlyMap<string, AssetFile> {
  const files = new Map<string, AssetFile>();
  const add = (name: string, path: string): void => {
    const version = createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 12);
    files.set(name, { path, version });
  };
  for (const entry of readdirSync(publicFolder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    add(path.slice(publicFolder.length + 1).replaceAll('\\', '/'), path);
  }
  for (const [name, path] of vendorFiles) add(name, path);
  return files;
}
