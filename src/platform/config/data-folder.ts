import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Folder of the embedded database, or of a file that states its location. */
export const embeddedDatabaseIn = (dataFolder: string): string => join(resolve(dataFolder), 'postgres');

/** The first start creates the folder, once it has the secrets. */
export const hasEmbeddedDatabase = (dataFolder: string): boolean =>
  existsSync(embeddedDatabaseIn(dataFolder));

/** Marks a restore into this data folder that is running or was interrupted. */
export const unfinishedRestoreIn = (dataFolder: string): string =>
  join(resolve(dataFolder), 'restore-unfinished');

/** A complete installation has the secrets that its database was created with, or was given them. */
export const requiresExistingSecrets = (dataFolder: string): boolean =>
  hasEmbeddedDatabase(dataFolder) && !existsSync(unfinishedRestoreIn(dataFolder));
