export { BigintColumn } from './bigint-column';
export { applicationUrl } from './connection-url';
export { Database, type Tx } from './database';
export { DatabaseClock } from './database-clock';
export { DatabaseModule } from './database.module';
export { DataFolderInUse, EmbeddedPostgresFailure } from './embedded-postgres';
export { everyRow, Keyset, type KeysetColumn, type Page, type PageRequest } from './keyset';
export { Notifications } from './notifications';
export {
  attachDatabase,
  openDatabase,
  type OpenDatabase,
  type OpeningDatabase,
  startDatabase,
} from './open-database';
export { RevisionWatch } from './revision-watch';
