import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import express, { type Application, type NextFunction, type Request, type Response } from 'express';
import { assetBase, type AssetFile, readAssetFiles, projectFolder } from '../../views';
import { encodeBody, type Encoding } from './compression';

const YEAR_SECONDS = 31_536_000;
const IMMUTABLE_CACHE_CONTROL = `public, max-age=${YEAR_SECONDS}, immutable`;
const publicFolder = join(projectFolder, 'public');

/**
 * Pages refer to files by content hash, so browsers cache them permanently; an address without the hash is revalidated.
 * `caches` is false in development, where files change.
 */
export function serveAssets(application: Application, caches: boolean): void {
  const files = readAssetFiles(publicFolder);
  const cache = new Map<string, Promise<Buffer>>();
  const send = async (name: string, file: AssetFile, request: Request, response: Response): Promise<void> => {
    const isVersioned = request.query['v'] === file.version;
    response.setHeader('cache-control', isVersioned ? IMMUTABLE_CACHE_CONTROL : 'no-cache');
    response.type(extname(name));
    const bytes = await readFile(file.path);
    const loadEncoded = (encoding: Encoding, make: () => Promise<Buffer>): Promise<Buffer> => {
      const cacheKey = `${encoding} ${name}`;
      const body = caches ? (cache.get(cacheKey) ?? make()) : make();
      if (caches) cache.set(cacheKey, body);
      return body;
    };
    const compressed = await encodeBody(bytes, request, response, loadEncoded, caches ? 'asset' : 'page');
    response.setHeader(
      'etag',
      `"${file.version}-${String(response.getHeader('content-encoding') ?? 'plain')}"`,
    );
    response.send(compressed ?? bytes);
  };
  application.use(assetBase, (request: Request, response: Response, next: NextFunction) => {
    const name = request.path.slice(1);
    const file = files.get(name);
    if (file === undefined || !['GET', 'HEAD'].includes(request.method)) next();
    else send(name, file, request, response).catch(next);
  });
  application.use(assetBase, express.static(publicFolder, { index: false, redirect: false }));
}
