import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The embedded database is here, or a file that says where it is. */
export const embeddedDatabaseIn = (dataFolder: string): string => join(resolve(dataFolder), 'postgres');

/** The first start makes it, once it has the secrets. */
export const hasEmbeddedDatabase = (dataFolder: string): boolean =>
  existsSync(embeddedDatabaseIn(dataFolder));

/** While it is there, a restore into this data folder is under way or was broken off. */
export const unfinishedRestoreIn = (dataFolder: string): string =>
  join(resolve(dataFolder), 'restore-unfinished');

/** A whole installation has the secrets that its database was made with, or was given them. */
export const needsItsSecrets = (dataFolder: string): boolean =>
  hasEmbeddedDatabase(dataFolder) && !existsSync(unfinishedRestoreIn(dataFolder));
