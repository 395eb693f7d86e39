import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '../../../test/system/program';

const fixture = (name: string): string =>
  readFileSync(join(projectFolder, 'test', 'fixtures', 'tls', name), 'utf8');

/** Certificates of private authorities: the supplier's for this machine, and our client certificate. */
export const certificates = {
  supplier: fixture('directory.cert.pem'),
  supplierKey: fixture('directory.key.pem'),
  client: fixture('client.cert.pem'),
  clientKey: fixture('client.key.pem'),
};
