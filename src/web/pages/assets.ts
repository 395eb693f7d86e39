import { join } from 'node:path';
import express, { type Application } from 'express';
import { assetBase, projectFolder, vendorFiles } from '../../views';

const YEAR_SECONDS = 31_536_000;

/** Files carry their content's hash in the query, so a browser never has to ask for one twice. */
export function serveAssets(application: Application, cache: boolean): void {
  const options = {
    index: false,
    redirect: false,
    maxAge: cache ? YEAR_SECONDS * 1000 : 0,
    immutable: cache,
  };
  for (const [name, path] of vendorFiles) {
    application.get(`${assetBase}${name}`, (_request, response) => response.sendFile(path, options));
  }
  application.use(assetBase, express.static(join(projectFolder, 'public'), options));
}
