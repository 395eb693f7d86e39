import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The embedded database is here, or a file that says where it is. */
export const embeddedDatabaseIn = (dataFolder: string): string => join(resolve(dataFolder), 'postgres');

/** The first start makes it, once it has the secrets. */
export const hasEmbeddedDatabase = (dataFolder: string): boolean =>
  existsSync(embeddedDatabaseIn(dataFolder));
