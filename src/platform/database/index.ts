export { BigintColumn, bigintTransformer } from './bigint-column';
export { applicationUrl, withSessionSettings } from './connection-url';
export type { Entity, Migration } from './data-source';
export { Database, type TransactionOptions, type Tx } from './database';
export { DatabaseModule, type DatabaseModuleOptions } from './database.module';
export {
  DataFolderInUse,
  type EmbeddedPostgres,
  EmbeddedPostgresFailure,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded-postgres';
export { migrate, type MigrateOptions } from './migrate';
export { Notifications } from './notifications';
export { openDatabase, type OpenDatabase } from './open-database';
