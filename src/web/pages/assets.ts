import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import express, { type Application, type NextFunction, type Request, type Response } from 'express';
import { assetBase, type AssetFile, assetFiles, projectFolder } from '../../views';
import { encoded, type Encoding } from './compression';

const YEAR_SECONDS = 31_536_000;
const ONE_FOR_EVER = `public, max-age=${YEAR_SECONDS}, immutable`;
const publicFolder = join(projectFolder, 'public');

/**
 * Pages name files with the hash of their content, so a browser never has to ask for one twice. An address
 * without it is asked for again. `keeps` is false in development, where files change.
 */
export function serveAssets(application: Application, keeps: boolean): void {
  const files = assetFiles(publicFolder);
  const kept = new Map<string, Promise<Buffer>>();
  const send = async (name: string, file: AssetFile, request: Request, response: Response): Promise<void> => {
    const isVersioned = request.query['v'] === file.version;
    response.setHeader('cache-control', isVersioned ? ONE_FOR_EVER : 'no-cache');
    response.type(extname(name));
    const bytes = await readFile(file.path);
    const keep = (encoding: Encoding, make: () => Promise<Buffer>): Promise<Buffer> => {
      const place = `${encoding} ${name}`;
      const ready = keeps ? (kept.get(place) ?? make()) : make();
      if (keeps) kept.set(place, ready);
      return ready;
    };
    const sent = await encoded(bytes, request, response, keep, keeps ? 'asset' : 'page');
    response.setHeader(
      'etag',
      `"${file.version}-${String(response.getHeader('content-encoding') ?? 'plain')}"`,
    );
    response.send(sent ?? bytes);
  };
  application.use(assetBase, (request: Request, response: Response, next: NextFunction) => {
    const name = request.path.slice(1);
    const file = files.get(name);
    if (file === undefined || !['GET', 'HEAD'].includes(request.method)) next();
    else send(name, file, request, response).catch(next);
  });
  application.use(assetBase, express.static(publicFolder, { index: false, redirect: false }));
}
